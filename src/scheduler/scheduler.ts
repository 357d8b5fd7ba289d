import { Node } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import { withCondition } from "#api/meta/condition.ts";
import { isConflict, isNotFound } from "#api/status.ts";
import { type Client } from "#client/client.ts";
import { type EventRecorder } from "#client/events.ts";
import { type Clock, timestamp } from "#lib/clock.ts";
import { type Log } from "#lib/log.ts";
import { type Random } from "#lib/random.ts";
import { isAbort } from "#lib/tasks.ts";
import { type Change, type Informers } from "#runtime/informer.ts";
import { type TraceRecorder } from "#trace/recorder.ts";
import { currentTrace, parseTraceparent } from "#trace/trace.ts";
import { Decider, explainRejections } from "./decide.ts";
import { type Profile, type QueuedPod } from "./framework.ts";
import { defaultProfile } from "./profiles.ts";
import { SchedulingQueue } from "./queue.ts";
import { isFinished, Snapshot } from "./snapshot.ts";
import { Verdicts } from "./verdicts.ts";

export interface SchedulerDeps {
  readonly client: Client;
  readonly informers: Informers;
  readonly clock: Clock;
  readonly log: Log;
  readonly random: Random;
  readonly events: EventRecorder;
  readonly recorder: TraceRecorder;
  readonly profile?: Profile;
  readonly verdicts?: Verdicts;
}

/** Binds under way at once: the next decision does not wait for the last write. */
const maxBinding = 128;

/** Places pods until the signal: pop, decide, assume, bind. */
export async function runScheduler(deps: SchedulerDeps, signal: AbortSignal): Promise<void> {
  const scheduler = new Scheduler(deps, signal);
  await deps.informers.of(Node).synced(signal);
  await deps.informers.of(Pod).synced(signal);
  await scheduler.run();
}

class Scheduler {
  readonly #deps: SchedulerDeps;
  readonly #signal: AbortSignal;
  readonly #profile: Profile;
  readonly #snapshot = new Snapshot();
  readonly #queue: SchedulingQueue;
  readonly #decider: Decider;
  readonly #verdicts: Verdicts;
  /** Pods counted on a node by our own decision and not yet seen there. */
  readonly #assumed = new Set<string>();
  readonly #traces = new Map<string, string>();
  readonly #stops: (() => void)[] = [];
  #binding = 0;
  #bindingDone: (() => void) | undefined;

  constructor(deps: SchedulerDeps, signal: AbortSignal) {
    this.#deps = deps;
    this.#signal = signal;
    this.#profile = deps.profile ?? defaultProfile(deps.client);
    this.#queue = new SchedulingQueue(deps.clock, this.#profile.plugins);
    this.#decider = new Decider(this.#profile, this.#snapshot, deps.random);
    this.#verdicts = deps.verdicts ?? new Verdicts();
  }

  async run(): Promise<void> {
    this.#stops.push(this.#deps.informers.of(Node).subscribe((change) => this.#onNode(change)));
    this.#stops.push(this.#deps.informers.of(Pod).subscribe((change) => this.#onPod(change)));
    try {
      for (;;) {
        const queued = await this.#queue.next(this.#signal);
        this.#schedule(queued);
        while (this.#binding >= maxBinding) await new Promise<void>((resolve) => (this.#bindingDone = resolve));
      }
    } catch (error) {
      if (!isAbort(error, this.#signal)) throw error;
    } finally {
      for (const stop of this.#stops) stop();
      this.#queue.close();
    }
  }

  #onNode(change: Change<Node>): void {
    const name = change.object.metadata.name ?? "";
    if (change.type === "delete") {
      this.#snapshot.removeNode(name);
      this.#queue.changed({ kind: "Node", change: "deleted", object: change.object, previous: undefined });
      return;
    }
    const { object, previous } = change;
    if (previous && sameForScheduling(object, previous)) return;
    this.#snapshot.setNode(object);
    this.#queue.changed({ kind: "Node", change: previous ? "updated" : "created", object, previous });
  }

  #onPod(change: Change<Pod>): void {
    const pod = change.object;
    const key = keyOf(pod);
    if (change.type === "delete") {
      this.#forget(key);
      if (pod.spec.nodeName) this.#queue.changed({ kind: "Pod", change: "deleted", object: pod, previous: undefined });
      return;
    }
    if (pod.spec.nodeName) return this.#onPlacedPod(key, pod, change.previous);
    if (this.#assumed.has(key) || !this.#isOurs(pod)) return;
    const waits = this.#profile.plugins.some((plugin) => plugin.preEnqueue?.(pod) !== undefined);
    if (waits || isFinished(pod) || pod.metadata.deletionTimestamp) return this.#queue.delete(key);
    if (change.trace) this.#traces.set(key, change.trace);
    this.#queue.put(key, pod);
  }

  #onPlacedPod(key: string, pod: Pod, previous: Pod | undefined): void {
    this.#assumed.delete(key);
    this.#queue.delete(key);
    this.#traces.delete(key);
    this.#snapshot.setPod(key, pod);
    const ended = previous && isFinished(pod) && !isFinished(previous);
    if (ended) this.#queue.changed({ kind: "Pod", change: "deleted", object: pod, previous });
  }

  #forget(key: string): void {
    this.#assumed.delete(key);
    this.#snapshot.removePod(key);
    this.#queue.delete(key);
    this.#traces.delete(key);
  }

  #isOurs({ spec }: Pod): boolean {
    return (spec.schedulerName || "default-scheduler") === this.#profile.schedulerName;
  }

  /** Decides now; the write goes on beside the next decision. */
  #schedule(queued: QueuedPod): void {
    const { pod, key } = queued;
    const span = this.#deps.recorder.startSpan({
      hop: "schedule",
      component: "scheduler",
      object: { resource: "pods", namespace: pod.metadata.namespace ?? "", name: pod.metadata.name ?? "" },
      parent: parseTraceparent(this.#traces.get(key)),
    });
    const decision = this.#decider.decide(pod);
    const { evaluated } = decision;
    const base = { at: this.#deps.clock.now(), attempt: queued.attempts, evaluated };
    if (decision.node === undefined) {
      const message = explainRejections(decision.rejections, this.#snapshot.nodes.length);
      this.#verdicts.add(key, {
        ...base,
        node: undefined,
        score: 0,
        feasible: 0,
        rejections: decision.rejections,
        message,
      });
      span.end({ facts: { node: "", message, evaluated } });
      this.#queue.rejected(queued, new Set([...decision.rejections.values()].map(({ plugin }) => plugin)));
      this.#start(() => currentTrace.run(span.trace, () => this.#reportUnschedulable(pod, message)));
      return;
    }
    const { node, score, feasible } = decision;
    this.#verdicts.add(key, { ...base, node, score, feasible, rejections: new Map(), message: `placed on ${node}` });
    this.#assumed.add(key);
    this.#snapshot.setPod(key, { ...pod, spec: { ...pod.spec, nodeName: node } });
    this.#start(() =>
      currentTrace.run(span.trace, async () => {
        await this.#bind(queued, node);
        span.end({ facts: { node, score, feasible, evaluated } });
      }),
    );
  }

  #start(task: () => Promise<void>): void {
    this.#binding++;
    void task()
      .catch((error: unknown) => {
        if (!isAbort(error, this.#signal)) this.#deps.log.error("a scheduling task failed", { error });
      })
      .finally(() => {
        this.#binding--;
        this.#bindingDone?.();
        this.#bindingDone = undefined;
      });
  }

  async #bind(queued: QueuedPod, nodeName: string): Promise<void> {
    const { pod } = queued;
    const { plugins } = this.#profile;
    try {
      for (const plugin of plugins) plugin.reserve?.(pod, nodeName);
      for (const plugin of plugins) await plugin.permit?.(pod, nodeName, this.#signal);
      for (const plugin of plugins) await plugin.preBind?.(pod, nodeName, this.#signal);
      for (const plugin of plugins) if (await plugin.bind?.(pod, nodeName, this.#signal)) break;
      for (const plugin of plugins) plugin.postBind?.(pod, nodeName);
      const { namespace, name } = pod.metadata;
      this.#deps.events.event(pod, "Normal", "Scheduled", `Successfully assigned ${namespace}/${name} to ${nodeName}`);
    } catch (error) {
      for (const plugin of plugins.toReversed()) plugin.unreserve?.(pod, nodeName);
      this.#takeBack(queued, error);
    }
  }

  /** The pod is not on the node after all. */
  #takeBack(queued: QueuedPod, error: unknown): void {
    const { key, pod } = queued;
    const seen = this.#deps.informers.of(Pod).get({ namespace: pod.metadata.namespace, name: pod.metadata.name ?? "" });
    this.#assumed.delete(key);
    if (isNotFound(error) || !seen) return this.#forget(key);
    if (seen.spec.nodeName) return this.#onPlacedPod(key, seen, undefined);
    this.#snapshot.removePod(key);
    if (!isAbort(error, this.#signal) && !isConflict(error)) {
      this.#deps.log.warn("binding failed, trying again", { pod: key, error: String(error) });
      this.#deps.events.event(pod, "Warning", "FailedScheduling", `binding rejected: ${String(error)}`);
    }
    this.#queue.failed(queued);
  }

  async #reportUnschedulable(pod: Pod, message: string): Promise<void> {
    const now = timestamp(this.#deps.clock.now());
    this.#deps.events.event(pod, "Warning", "FailedScheduling", message);
    const known = pod.status?.conditions?.find(({ type }) => type === "PodScheduled");
    if (known?.status === "False" && known.reason === "Unschedulable" && known.message === message) return;
    const condition = {
      type: "PodScheduled",
      status: "False" as const,
      reason: "Unschedulable",
      message,
      lastTransitionTime: known?.status === "False" ? (known.lastTransitionTime ?? now) : now,
      observedGeneration: pod.metadata.generation ?? 0,
    };
    const conditions = withCondition(pod.status?.conditions, condition);
    const patch = { type: "strategic", body: { metadata: { uid: pod.metadata.uid }, status: { conditions } } } as const;
    try {
      await this.#deps.client.patch(Pod, pod, patch, { subresource: "status", signal: this.#signal });
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }
}

const keyOf = ({ metadata }: Pod): string => `${metadata.namespace}/${metadata.name}/${metadata.uid}`;

/** Heartbeats change nothing that pods are placed by. */
function sameForScheduling(a: Node, b: Node): boolean {
  const parts = ({ metadata, spec, status }: Node) =>
    JSON.stringify([
      metadata.labels,
      metadata.annotations,
      spec,
      status?.allocatable,
      status?.images?.length,
      conditionsOf(status),
    ]);
  return parts(a) === parts(b);
}
const conditionsOf = (status: Node["status"]) => status?.conditions?.map(({ type, status: value }) => [type, value]);
