import { StatusError } from "#api/status.ts";
import { type TraceAnswer, type VerdictsAnswer } from "#trace/answers.ts";
import { chooseTrace, summarizeTraces } from "#trace/choose-trace.ts";
import { type HopObject } from "#trace/hop.ts";
import { type TraceRecorder } from "#trace/recorder.ts";
import { type Answer, type Context } from "./pipeline.ts";
import { decodeSegment } from "./request-info.ts";

export interface SeeingDeps {
  readonly recorder: TraceRecorder;
  /** The scheduler's last attempts, by `namespace/name/uid` of the pod. */
  verdictsOf?(podKey: string): VerdictsAnswer;
}

/** Replaces the namespace of cluster-scoped objects. */
const noNamespace = "-";

/**
 * What happened and why, for users:
 *
 *   /orlop/trace/RESOURCE.GROUP/NAMESPACE/NAME[?trace=ID]    the hops of the last apply; `-` where there is no namespace
 *   /orlop/verdicts/NAMESPACE/POD/UID                        the scheduler's last decisions
 */
export const answerSeeing =
  (deps: SeeingDeps) =>
  (context: Context): Answer | undefined => {
    const [, , topic, ...parts] = context.info.path.split("/").map(decodeSegment);
    if (context.info.verb !== "get" || parts.length !== 3) return undefined;
    const [first = "", second = "", third = ""] = parts;
    if (topic === "trace") {
      const object = { resource: first, namespace: second === noNamespace ? "" : second, name: third };
      return value(traceOf(deps, object, context.query.get("trace") ?? ""));
    }
    if (topic !== "verdicts") return undefined;
    return value(deps.verdictsOf?.(`${first}/${second}/${third}`) ?? { attempts: [] });
  };

function traceOf({ recorder }: SeeingDeps, object: HopObject, asked: string): TraceAnswer {
  if (!recorder.isOn) throw new StatusError("NotFound", "this server keeps no traces: it was started with --no-trace");
  const traces = summarizeTraces(recorder.byObject(object));
  const traceId = asked || chooseTrace(traces);
  return { object, traceId, traces, hops: recorder.byTrace(traceId) };
}

const value = (content: unknown): Answer => ({ type: "value", status: 200, value: content });
