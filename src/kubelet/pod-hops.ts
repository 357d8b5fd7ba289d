import type { Pod } from "#api/core/pod.ts";
import { messageOf } from "#lib/message-of.ts";
import { currentTrace, type Trace } from "#trace/trace.ts";
import { type PodDeps } from "./pod-deps.ts";

/** What there is to say of a step. */
export type HopFacts = Readonly<Record<string, unknown>>;

export interface PodHop {
  readonly pod: Pod;
  /** The change of the pod that this is a consequence of. */
  readonly parent: Trace | undefined;
  readonly facts: HopFacts;
  /** When it began, if the step is a wait that is over now. */
  readonly startMs?: number | undefined;
}

/** Does a step of a pod's life and records it as a hop, with what went wrong if it did. */
export async function recordHop<T>(deps: PodDeps, hop: PodHop, work: () => Promise<T>): Promise<T> {
  const { pod, parent, facts, startMs } = hop;
  const { name = "", namespace = "" } = pod.metadata;
  const span = deps.recorder.startSpan({
    hop: "run",
    component: `kubelet ${deps.nodeName}`,
    object: { resource: "pods", namespace, name },
    ...(parent ? { parent } : {}),
    startMs,
  });
  try {
    const result = await currentTrace.run(span.trace, work);
    span.end({ facts: { ...facts, ...faultIn(result) } });
    return result;
  } catch (error) {
    span.end({ facts: { ...facts, error: messageOf(error) } });
    throw error;
  }
}

/** Steps whose failure is an answer and not an error say why in it. */
function faultIn(result: unknown): HopFacts {
  if (typeof result !== "object" || result === null || !("ok" in result) || result.ok !== false) return {};
  const parts = ["reason" in result && result.reason, "message" in result && result.message];
  return { error: parts.filter(Boolean).join(": ") };
}
