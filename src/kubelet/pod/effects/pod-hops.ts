import type { Pod } from "#api/core/pod.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { currentTrace, type Trace } from "#trace/trace.ts";
import { type PodDeps } from "../pod-deps.ts";

/** Details of a hop. */
export type HopFacts = Readonly<Record<string, unknown>>;

export interface PodHop {
  readonly pod: Pod;
  /** The change of the pod that caused this step. */
  readonly parent: Trace | undefined;
  readonly facts: HopFacts;
  /** When it began, if the step is a wait that has just ended. */
  readonly startMs?: number | undefined;
}

/** Runs a step of a pod's life and records it as a hop, with its error if it fails. */
export async function recordHop<T>(deps: PodDeps, hop: PodHop, work: () => Promise<T>): Promise<T> {
  const { pod, parent, facts, startMs } = hop;
  const { name, namespace } = pod.metadata;
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

/** The reason in a result that reports a failure without throwing. */
function faultIn(result: unknown): HopFacts {
  if (typeof result !== "object" || result === null || !("ok" in result) || result.ok !== false) return {};
  const parts = ["reason" in result && result.reason, "message" in result && result.message];
  return { error: parts.filter(Boolean).join(": ") };
}

/** The trace of one pod: each step of its life is a hop of the change that caused it. */
export class PodTrace {
  readonly #deps: PodDeps;
  #cause: Trace | undefined;
  #wasReady = false;
  /** When the last container started. */
  #startedMs: number | undefined;

  constructor(deps: PodDeps) {
    this.#deps = deps;
  }

  get cause(): Trace | undefined {
    return this.#cause;
  }

  /** Sets the change that causes the following steps. */
  causedBy(trace: Trace | undefined): void {
    if (trace) this.#cause = trace;
  }

  hop<T>(pod: Pod, facts: HopFacts, work: () => Promise<T>): Promise<T> {
    return recordHop(this.#deps, { pod, parent: this.#cause, facts }, work);
  }

  containerStarted(): void {
    this.#startedMs = this.#deps.recorder.now();
  }

  /** Records that the pod became ready; the first time with the wait for its probes. */
  noteReady(pod: Pod): void {
    const isReady = pod.status.conditions?.find(({ type }) => type === "Ready")?.status === "True";
    if (isReady && !this.#wasReady) this.#recordReady(pod);
    this.#wasReady = isReady;
  }

  #recordReady(pod: Pod): void {
    const startMs = this.#startedMs;
    this.#startedMs = undefined;
    const probed = pod.spec.containers.some(({ readinessProbe, startupProbe }) => readinessProbe || startupProbe);
    const wait = probed && startMs !== undefined ? { startMs } : {};
    const facts = { step: probed ? "probes" : "ready" };
    void recordHop(this.#deps, { pod, parent: this.#cause, facts, ...wait }, async () => {});
  }
}
