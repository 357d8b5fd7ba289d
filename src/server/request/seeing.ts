import { StatusError } from "#api/status.ts";
import { type TraceAnswer, type VerdictsAnswer } from "#trace/answers.ts";
import { chooseTrace, summarizeTraces } from "#trace/choose-trace.ts";
import { type Hop, type HopObject } from "#trace/hop.ts";
import { type TraceRecorder } from "#trace/recorder.ts";
import { type Answer, type Context } from "./pipeline.ts";
import { decodeSegment } from "./request-info.ts";

export interface SeeingDeps {
  readonly recorder: TraceRecorder;
  /** The scheduler's last attempts, by `namespace/name/uid` of the pod. */
  verdictsOf?(podKey: string): VerdictsAnswer;
  /** The hops that nodes have recorded themselves, besides the known ones. */
  hopsOfNodes?(
    trace: { readonly traceId: string; readonly known: readonly Hop[] },
    signal: AbortSignal,
  ): Promise<Hop[]>;
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
  (context: Context): Answer | Promise<Answer> | undefined => {
    const [, , topic, ...parts] = context.info.path.split("/").map(decodeSegment);
    if (context.info.verb !== "get" || parts.length !== 3) return undefined;
    const [first = "", second = "", third = ""] = parts;
    if (topic === "trace") {
      const object = { resource: first, namespace: second === noNamespace ? "" : second, name: third };
      return traceOf(deps, { object, asked: context.query.get("trace") ?? "" }, context.request.signal).then(value);
    }
    if (topic !== "verdicts") return undefined;
    return value(deps.verdictsOf?.(`${first}/${second}/${third}`) ?? { attempts: [] });
  };

async function traceOf(
  { recorder, hopsOfNodes }: SeeingDeps,
  { object, asked }: { readonly object: HopObject; readonly asked: string },
  signal: AbortSignal,
): Promise<TraceAnswer> {
  if (!recorder.isOn) throw new StatusError("NotFound", "this server keeps no traces: it was started with --no-trace");
  const traces = summarizeTraces(recorder.byObject(object));
  const traceId = asked || chooseTrace(traces);
  const known = recorder.byTrace(traceId);
  const others = traceId && known.length > 0 ? await hopsOfNodes?.({ traceId, known }, signal) : [];
  return { object, traceId, traces, hops: [...known, ...(others ?? [])] };
}

const value = (content: unknown): Answer => ({ type: "value", status: 200, value: content });
