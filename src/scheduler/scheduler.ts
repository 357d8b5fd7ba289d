import { Namespace } from "#api/core/namespace.ts";
import { Node } from "#api/core/node.ts";
import { isFinished } from "#api/core/pod/pod-state.ts";
import { Pod } from "#api/core/pod.ts";
import { PodDisruptionBudget } from "#api/policy/pod-disruption-budget.ts";
import { isConflict, isNotFound } from "#api/status.ts";
import { type Client } from "#client/client.ts";
import { type EventRecorder } from "#client/events.ts";
import { type Clock } from "#lib/async/clock.ts";
import { isAbort } from "#lib/async/tasks.ts";
import { Slice } from "#lib/async/turns.ts";
import { equal } from "#lib/data/equal.ts";
import { type Random } from "#lib/data/random.ts";
import { type Log } from "#lib/process/log.ts";
import { type Change, type Informers } from "#runtime/informer.ts";
import { type TraceRecorder } from "#trace/recorder.ts";
import { currentTrace, parseTraceparent } from "#trace/trace.ts";
import { bindPod } from "./bind.ts";
import { Decider, type NoPlacement, type Placement } from "./decide.ts";
import { type Rejections } from "./explain.ts";
import { type Profile, type QueuedPod } from "./framework.ts";
import { keyOf } from "./pod-key.ts";
import { Nominations } from "./preemption/nominations.ts";
import { type Outcome, Preemptor } from "./preemption/preemptor.ts";
import { defaultProfile } from "./profiles.ts";
import { SchedulingQueue } from "./queue.ts";
import { reportNotScheduled } from "./report.ts";
import { Snapshot } from "./snapshot.ts";
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

/** The maximum number of concurrent writes: the next decision does not wait for the last write. */
const maxWriting = 128;

/** Schedules pods until the signal fires: pop, decide, assume, bind. */
export async function runScheduler(deps: SchedulerDeps, signal: AbortSignal): Promise<void> {
  const scheduler = new Scheduler(deps, signal);
  await deps.informers.synced(signal);
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
  readonly #nominations = new Nominations();
  readonly #preemptor: Preemptor;
  /** Pods counted on a node by our own decision and not seen there yet. */
  readonly #assumed = new Set<string>();
  readonly #traces = new Map<string, string>();
  readonly #writing = new Set<Promise<void>>();
  /** Pods that wait for what others prepare. They are among the writing ones, but do not count as such. */
  readonly #waiting = new Map<string, AbortController>();
  /** Called once when one of them is done. */
  #written: (() => void) | undefined;

  constructor(deps: SchedulerDeps, signal: AbortSignal) {
    this.#deps = deps;
    this.#signal = signal;
    this.#profile = deps.profile ?? defaultProfile(deps);
    this.#queue = new SchedulingQueue(deps.clock, this.#profile.plugins);
    this.#decider = new Decider(this.#profile, this.#snapshot, deps.random, this.#nominations);
    this.#verdicts = deps.verdicts ?? new Verdicts();
    const { plugins, schedulerName } = this.#profile;
    const budgets = deps.informers.of(PodDisruptionBudget);
    const world = { snapshot: this.#snapshot, nominations: this.#nominations, budgets };
    this.#preemptor = new Preemptor({ ...deps, ...world, plugins, schedulerName });
  }

  async run(): Promise<void> {
    const { informers } = this.#deps;
    const stopNodes = informers.of(Node).subscribe((change) => this.#onNode(change));
    const stopPods = informers.of(Pod).subscribe((change) => this.#onPod(change));
    const stopNamespaces = informers.of(Namespace).subscribe((change) => this.#onNamespace(change));
    const stopObjects = this.#followObjects();
    const stopPlugins = this.#profile.plugins.map(({ follow }) => follow?.((pod) => this.#consider(pod)));
    let slice = new Slice();
    try {
      for (;;) {
        const ready = this.#queue.tryNext();
        const queued = ready ?? (await this.#queue.next(this.#signal));
        if (!ready) slice = new Slice();
        await this.#schedule(queued);
        // Rules about pods on other nodes can make decisions slow, and thousands of pods may be waiting.
        if (slice.isOver) await slice.rest();
        while (this.#writing.size - this.#waiting.size >= maxWriting)
          await new Promise<void>((resolve) => (this.#written = resolve));
      }
    } catch (error) {
      if (!isAbort(error, this.#signal)) throw error;
    } finally {
      stopNodes();
      stopPods();
      stopNamespaces();
      stopObjects();
      for (const stop of stopPlugins) stop?.();
      this.#queue.close();
      await Promise.all(this.#writing);
    }
  }

  /** Other kinds whose changes may help a pod, according to the plugins. */
  #followObjects(): () => void {
    const hints = this.#profile.plugins.flatMap(({ retryOn }) => retryOn?.objects ?? []);
    const stops = Array.from(new Set(hints.map(({ resource }) => resource)), (resource) =>
      this.#deps.informers
        .of(resource)
        .subscribe((change) => this.#queue.changed({ kind: "Object", resource, change })),
    );
    return () => {
      for (const stop of stops) stop();
    };
  }

  #onNode(change: Change<Node>): void {
    const { object } = change;
    const name = object.metadata.name;
    if (change.type === "delete") {
      this.#snapshot.removeNode(name);
      this.#queue.changed({ kind: "Node", change: "deleted", object, previous: undefined, info: undefined });
      return;
    }
    const { previous } = change;
    if (previous && sameForScheduling(object, previous)) return;
    this.#snapshot.setNode(object);
    const info = this.#snapshot.get(name);
    this.#queue.changed({ kind: "Node", change: previous ? "updated" : "created", object, previous, info });
  }

  /** Affinity terms may select namespaces by label. */
  #onNamespace(change: Change<Namespace>): void {
    const labels = change.type === "put" ? change.previous?.metadata.labels : undefined;
    if (!equal(labels ?? {}, change.object.metadata.labels ?? {})) this.#snapshot.topology.namespacesChanged();
  }

  #onPod(change: Change<Pod>): void {
    const pod = change.object;
    const key = keyOf(pod);
    if (change.type === "delete") return this.#forget(key, pod);
    if (pod.spec.nodeName) return this.#onPlacedPod(key, pod);
    if (!this.#consider(pod)) return;
    this.#nominate(key, pod, change.type === "put" ? change.previous : undefined);
    if (change.trace) this.#traces.set(key, change.trace);
  }

  /** Puts a pod without a node into the queue, if it is ours and may be there. */
  #consider(pod: Pod): boolean {
    const key = keyOf(pod);
    if (pod.spec.nodeName || this.#assumed.has(key) || !this.#isOurs(pod)) return false;
    const waits = this.#profile.plugins.some((plugin) => plugin.preEnqueue?.(pod) !== undefined);
    if (waits || isFinished(pod) || pod.metadata.deletionTimestamp) {
      this.#preemptor.forget(key);
      this.#queue.delete(key);
      return false;
    }
    this.#queue.put(key, pod);
    return true;
  }

  /** Another component may nominate a node too, or take it back. */
  #nominate(key: string, pod: Pod, previous: Pod | undefined): void {
    const node = pod.status?.nominatedNodeName;
    if (node) this.#nominations.set(key, pod, node);
    else if (previous?.status?.nominatedNodeName) this.#nominations.delete(key);
  }

  #onPlacedPod(key: string, pod: Pod): void {
    this.#preemptor.forget(key);
    const isNew = this.#assumed.delete(key);
    this.#queue.delete(key);
    this.#traces.delete(key);
    const previous = isNew ? undefined : this.#snapshot.podOf(key);
    if (this.#snapshot.setPod(key, pod)) return this.#onRoom(pod, isFinished(pod) ? "deleted" : "updated");
    const info = this.#snapshot.get(pod.spec.nodeName ?? "");
    const change = previous ? "updated" : "created";
    this.#queue.otherPodChanged({ kind: "Pod", change, object: pod, previous, info, freesRoom: false });
  }

  /** The pod is gone, or no longer ours to schedule. */
  #forget(key: string, pod: Pod): void {
    this.#preemptor.forget(key);
    this.#assumed.delete(key);
    this.#queue.delete(key);
    this.#traces.delete(key);
    this.#waiting.get(key)?.abort(new Error("pod does not exist any more"));
    const counted = this.#snapshot.podOf(key) ?? pod;
    if (this.#snapshot.removePod(key)) this.#onRoom(counted, "deleted");
  }

  /** A pod has freed some of its node. */
  #onRoom(pod: Pod, change: "updated" | "deleted"): void {
    const info = this.#snapshot.get(pod.spec.nodeName ?? "");
    this.#queue.changed({ kind: "Pod", change, object: pod, info, freesRoom: true });
  }

  #isOurs({ spec }: Pod): boolean {
    return (spec.schedulerName || "default-scheduler") === this.#profile.schedulerName;
  }

  /** The writes continue during the next decision. */
  async #schedule(queued: QueuedPod): Promise<void> {
    const { pod, key } = queued;
    const span = this.#deps.recorder.startSpan({
      hop: "schedule",
      component: "scheduler",
      object: { resource: "pods", namespace: pod.metadata.namespace, name: pod.metadata.name },
      parent: parseTraceparent(this.#traces.get(key)),
    });
    const isThere = () => this.#queue.placeOf(key) === "trying";
    for (const plugin of this.#profile.plugins) {
      const work = plugin.prepare?.(pod, this.#snapshot);
      if (work) await work;
    }
    if (!isThere()) return span.end({ facts: { node: "", message: "the pod is gone", evaluated: 0 } });
    const decision = this.#decider.decide(pod);
    const { node, evaluated } = decision;
    if (node === undefined) {
      const outcome =
        decision.rejections.size > 0
          ? await this.#preemptor.makeRoom({ key, pod }, decision.rejections, isThere)
          : undefined;
      if (!isThere()) return span.end({ facts: { node: "", message: decision.message, evaluated } });
      const remedies = this.#profile.plugins.flatMap((one) => one.afterRejection?.(pod, this.#snapshot) ?? []);
      const further = [...remedies.map((one) => one.message), ...(outcome?.message ? [outcome.message] : [])].join(
        ", ",
      );
      const message = further ? `${decision.message} ${further}` : decision.message;
      const victims = outcome?.victims.length ?? 0;
      span.end({ facts: { node: "", message, evaluated, ...(victims > 0 ? { victims } : {}) } });
      this.#reject(queued, { ...decision, message });
      this.#start(() =>
        currentTrace.run(span.trace, async () => {
          await Promise.all(remedies.map((remedy) => remedy.run(this.#signal)));
          await this.#reportRejection(pod, message, outcome);
        }),
      );
      return;
    }
    this.#assume(queued, decision);
    this.#start(() =>
      currentTrace.run(span.trace, async () => {
        await this.#bind(queued, node);
        span.end({ facts: { node, score: decision.score, feasible: decision.feasible, evaluated } });
      }),
    );
  }

  #reject(queued: QueuedPod, { rejections, rejectedBy, evaluated, message }: NoPlacement): void {
    const base = { at: this.#deps.clock.now(), attempt: queued.attempts, evaluated };
    this.#verdicts.add(queued.key, { ...base, node: undefined, score: 0, feasible: 0, rejections, message });
    this.#queue.rejected(queued, rejectedBy);
  }

  #assume(queued: QueuedPod, { node, score, feasible, evaluated }: Placement): void {
    const { pod, key, attempts: attempt } = queued;
    const message = `placed on ${node}`;
    const at = this.#deps.clock.now();
    this.#verdicts.add(key, { at, attempt, evaluated, node, score, feasible, rejections: noRejections, message });
    this.#queue.decided(queued);
    this.#assumed.add(key);
    this.#snapshot.setPod(key, { ...pod, spec: { ...pod.spec, nodeName: node } });
  }

  #start(task: () => Promise<void>): void {
    const running = task()
      .catch((error: unknown) => {
        if (!isAbort(error, this.#signal)) this.#deps.log.error("a scheduling task failed", { error });
      })
      .finally(() => {
        this.#writing.delete(running);
        this.#written?.();
        this.#written = undefined;
      });
    this.#writing.add(running);
  }

  async #bind(queued: QueuedPod, node: string): Promise<void> {
    const { pod } = queued;
    const aside = (wait: (signal: AbortSignal) => Promise<void>) => this.#aside(queued.key, wait);
    const failure = await bindPod(this.#profile.plugins, { pod, node, signal: this.#signal, aside });
    if (failure) return await this.#takeBack(queued, failure);
    const { namespace, name } = pod.metadata;
    this.#deps.events.event(pod, "Normal", "Scheduled", `Successfully assigned ${namespace}/${name} to ${node}`);
  }

  /** Lets the scheduler go on while a pod waits. */
  async #aside(key: string, wait: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const end = new AbortController();
    this.#waiting.set(key, end);
    this.#written?.();
    try {
      await wait(AbortSignal.any([this.#signal, end.signal]));
    } finally {
      this.#waiting.delete(key);
    }
  }

  /** The binding failed, so the pod is not on the node. */
  async #takeBack(queued: QueuedPod, failure: Error): Promise<void> {
    const { key, pod } = queued;
    // It was seen on a node or deleted meanwhile, and that is already handled.
    if (!this.#assumed.delete(key) || this.#signal.aborted) return;
    const { namespace, name } = pod.metadata;
    const seen = this.#deps.informers.of(Pod).get({ namespace, name });
    const isThere = seen && seen.metadata.uid === pod.metadata.uid && !seen.metadata.deletionTimestamp;
    if (!isThere) return this.#forget(key, pod);
    const assumed = this.#snapshot.podOf(key);
    this.#queue.put(key, seen);
    this.#queue.failed(queued);
    if (assumed && this.#snapshot.removePod(key)) this.#onRoom(assumed, "deleted");
    // Another writer was faster, and we will see the result soon.
    if (isConflict(failure.cause) || isNotFound(failure.cause)) return;
    this.#deps.log.warn("binding failed, trying again", { pod: key, error: failure.message });
    await this.#report(seen, "SchedulerError", failure.message);
  }

  async #reportRejection(pod: Pod, message: string, outcome: Outcome | undefined): Promise<void> {
    const nominate = outcome?.nominate;
    await reportNotScheduled(this.#deps, { pod, reason: "Unschedulable", message, nominate, signal: this.#signal });
    await outcome?.run(this.#signal);
  }

  async #report(pod: Pod, reason: string, message: string): Promise<void> {
    await reportNotScheduled(this.#deps, { pod, reason, message, signal: this.#signal });
  }
}

const noRejections: Rejections = new Map();

/** Heartbeats change nothing that scheduling depends on. */
function sameForScheduling(a: Node, b: Node): boolean {
  return (
    equal(a.metadata.labels, b.metadata.labels) &&
    equal(a.metadata.annotations, b.metadata.annotations) &&
    equal(a.spec, b.spec) &&
    equal(a.status?.allocatable, b.status?.allocatable) &&
    equal(a.status?.images, b.status?.images) &&
    equal(conditionsOf(a), conditionsOf(b))
  );
}
const conditionsOf = ({ status }: Node) => status?.conditions?.map(({ type, status: value }) => [type, value]);
