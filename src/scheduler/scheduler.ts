import { Namespace } from "#api/core/namespace.ts";
import { Node } from "#api/core/node.ts";
import { isFinished } from "#api/core/pod/pod-state.ts";
import { Pod } from "#api/core/pod.ts";
import { isConflict, isNotFound } from "#api/status.ts";
import { createEventRecorder } from "#client/events.ts";
import { isAbort } from "#lib/async/tasks.ts";
import { Slice } from "#lib/async/turns.ts";
import { equal } from "#lib/data/equal.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { type Change } from "#runtime/informer.ts";
import { type NodeScore } from "#trace/answers.ts";
import { currentTrace, parseTraceparent } from "#trace/trace.ts";
import { bindPod } from "./binding/bind.ts";
import { Expectation } from "./binding/expectation.ts";
import { readPod } from "./binding/read-pod.ts";
import { NotPermitted, WaitingPods } from "./binding/waiting-pods.ts";
import { Writes } from "./binding/writes.ts";
import { type NoPlacement, type Placement, refusedAt } from "./decide.ts";
import type { Extenders } from "./extenders/extenders.ts";
import { type ObjectChange, type QueuedPod } from "./framework.ts";
import { earlyGateOf, Gated, gateOf, groupOf } from "./gated.ts";
import { createLanes, followAll, type Lane, type LaneDeps, type Lanes, laneOf, outside, postFilter } from "./lanes.ts";
import { keyOf } from "./pod-key.ts";
import { Nominations } from "./preemption/nominations.ts";
import { type CandidateLimits } from "./preemption/plan-preemption.ts";
import { type Outcome, type Search } from "./preemption/preemptor.ts";
import { type Candidate } from "./preemption/rank.ts";
import { wakeAfter } from "./preemption/wake-after.ts";
import { defaultProfile } from "./profiles.ts";
import { SchedulingQueue } from "./queue.ts";
import { reportNotScheduled } from "./report.ts";
import { type Attempt, gone, noRejections, roomOf, shownNodes, shownPods } from "./seeing/attempt.ts";
import { Verdicts } from "./seeing/verdicts.ts";
import { SecondMeter, whereIs } from "./seeing/where-is.ts";
import { type SchedulerDeps } from "./setup.ts";
import { Snapshot, sameForScheduling } from "./snapshot.ts";

/** Schedules pods until the signal fires: pop, decide, assume, bind. */
export async function runScheduler(deps: SchedulerDeps, signal: AbortSignal): Promise<void> {
  await using recorders = new AsyncDisposableStack();
  const { client, clock, log } = deps;
  const isBusy = (): boolean => scheduler.isBusy;
  const eventsOf = (component: string) => recorders.use(createEventRecorder(client, { component, clock, log, isBusy }));
  const scheduler: Scheduler = new Scheduler({ ...deps, eventsOf }, signal);
  await deps.informers.synced(signal);
  await scheduler.run();
}

type Deps = SchedulerDeps & Pick<LaneDeps, "eventsOf">;

class Scheduler {
  readonly #deps: Deps;
  readonly #signal: AbortSignal;
  readonly #lanes: Lanes;
  readonly #snapshot = new Snapshot();
  readonly #queue: SchedulingQueue;
  readonly #gated = new Gated();
  readonly #verdicts: Verdicts;
  readonly #nominations = new Nominations();
  readonly #waiting: WaitingPods;
  readonly #extenders: Extenders | undefined;
  /** Pods counted on a node by our own decision and not seen there yet. */
  readonly #assumed = new Set<string>();
  readonly #traces = new Map<string, string>();
  readonly #writes: Writes;
  readonly #meter = new SecondMeter(shownPods);

  constructor(deps: Deps, signal: AbortSignal) {
    this.#deps = deps;
    this.#signal = signal;
    const { profiles, backoff, extenders } = deps.setup?.(deps) ?? { profiles: [defaultProfile(deps)] };
    this.#extenders = extenders;
    this.#lanes = createLanes(profiles, { ...deps, snapshot: this.#snapshot, nominations: this.#nominations });
    this.#queue = new SchedulingQueue(deps.clock, profiles, backoff);
    this.#verdicts = deps.verdicts ?? new Verdicts();
    this.#verdicts.whereIs = (key) => whereIs(key, { queue: this.#queue, gated: this.#gated, waiting: this.#waiting });
    this.#waiting = new WaitingPods(deps.clock);
    this.#writes = new Writes(deps.log, signal);
    this.#nominations.onEnd = (nominated, node) => wakeAfter(nominated, node, this.#snapshot, this.#queue);
  }

  /** Whether many pods are being placed now. */
  get isBusy(): boolean {
    return this.#queue.hasActive || this.#writes.isCrowded;
  }

  async run(): Promise<void> {
    const { informers, log } = this.#deps;
    const stopNodes = informers.of(Node).subscribe((change) => this.#onNode(change));
    const stopPods = informers.of(Pod).subscribe((change) => this.#onPod(change));
    const stopNamespaces = informers.of(Namespace).subscribe((change) => this.#onNamespace(change));
    const changed = (change: ObjectChange): void => this.#queue.changed(change);
    const stopObjects = followAll(this.#lanes, { informers, log, changed, reconsider: (pod) => this.#reconsider(pod) });
    let slice = new Slice();
    try {
      for (;;) {
        const ready = this.#queue.tryNext();
        const queued = ready ?? (await this.#queue.next(this.#signal));
        if (!ready) slice = new Slice();
        await this.#schedule(queued);
        // Rules about pods on other nodes can make decisions slow, and thousands of pods may be waiting.
        if (slice.isOver) await slice.rest();
        await this.#writes.room();
      }
    } catch (error) {
      if (!isAbort(error, this.#signal)) throw error;
    } finally {
      for (const stop of [stopNodes, stopPods, stopNamespaces, stopObjects]) stop();
      this.#queue.close();
      await this.#writes.finished();
    }
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
    const lane = laneOf(this.#lanes, pod);
    lane?.observe(change);
    if (change.type === "delete") return this.#forget(key, pod);
    if (pod.spec.nodeName) return this.#onPlacedPod(key, pod);
    if (this.#assumed.has(key) || !lane) return;
    const isOver = isFinished(pod) || pod.metadata.deletionTimestamp !== undefined;
    const gate = isOver ? undefined : earlyGateOf(lane.plugins, pod);
    if (isOver || gate) return this.#keepOut(key, pod, lane, gate);
    this.#nominate(key, pod, change.type === "put" ? change.previous : undefined);
    if (change.trace) this.#traces.set(key, change.trace);
    this.#enqueue(key, pod, lane);
  }

  /** Out of the queue, for ever or until the gate opens. */
  #keepOut(key: string, pod: Pod, lane: Lane, gate: ReturnType<typeof gateOf>): void {
    lane.preemptor.forget(key);
    this.#queue.delete(key);
    this.#gated.delete(key);
    if (gate) this.#gated.set({ key, pod, ...gate, group: groupOf(lane.plugins, pod) });
  }

  /** A plugin may let the pod in now. */
  #reconsider(pod: Pod): void {
    const key = keyOf(pod);
    const lane = laneOf(this.#lanes, pod);
    if (lane && this.#gated.get(key) && !earlyGateOf(lane.plugins, pod)) this.#enqueue(key, pod, lane);
  }

  /** A pod that may enter the queue takes those of its group along. */
  #enqueue(key: string, pod: Pod, lane: Lane): void {
    this.#gated.delete(key);
    this.#queue.put(key, pod);
    const group = groupOf(lane.plugins, pod);
    if (group === undefined) return;
    for (const member of this.#gated.membersOf(group)) {
      if (earlyGateOf(lane.plugins, member.pod)) continue;
      this.#gated.delete(member.key);
      this.#queue.put(member.key, member.pod);
    }
  }

  /** Another component may nominate a node too, or take it back. */
  #nominate(key: string, pod: Pod, previous: Pod | undefined): void {
    const node = pod.status?.nominatedNodeName;
    if (node) this.#nominations.set(key, pod, node);
    else if (previous?.status?.nominatedNodeName) this.#nominations.delete(key);
  }

  #onPlacedPod(key: string, pod: Pod): void {
    this.#forgetPreemption(key, pod);
    this.#gated.delete(key);
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
    this.#forgetPreemption(key, pod);
    this.#gated.delete(key);
    this.#assumed.delete(key);
    this.#queue.delete(key);
    this.#traces.delete(key);
    this.#writes.abandon(key);
    const counted = this.#snapshot.podOf(key) ?? pod;
    if (this.#snapshot.removePod(key)) this.#onRoom(counted, "deleted");
  }

  /** A pod has freed some of its node. If it gave it up, the others of its group must not hurry: they might do so for ever. */
  #onRoom(pod: Pod, change: "updated" | "deleted", group?: string): void {
    const info = this.#snapshot.get(pod.spec.nodeName ?? "");
    const mayHurry = outside(group, this.#lanes);
    this.#queue.changed({ kind: "Pod", change, object: pod, info, freesRoom: true }, undefined, mayHurry);
  }

  #forgetPreemption(key: string, pod: Pod): void {
    const lane = laneOf(this.#lanes, pod);
    if (lane) lane.preemptor.forget(key);
    else this.#nominations.delete(key);
  }

  /** The writes continue during the next decision. */
  async #schedule(queued: QueuedPod): Promise<void> {
    const { pod, key } = queued;
    const lane = laneOf(this.#lanes, pod);
    if (!lane) return;
    const span = this.#deps.recorder.startSpan({
      hop: "schedule",
      component: "scheduler",
      object: { resource: "pods", namespace: pod.metadata.namespace, name: pod.metadata.name },
      parent: parseTraceparent(this.#traces.get(key)),
    });
    const attempt = { queued, lane, span };
    try {
      // A gate may have closed since, and a plugin that failed then is asked again.
      const gate = gateOf(lane.plugins, pod);
      if (gate) this.#keepOut(key, pod, lane, gate);
      else if (this.#extenders?.isInterested(pod)) return this.#consult(attempt, this.#extenders);
      else await lane.prepare(pod);
      if (this.#queue.placeOf(key) !== "trying") return span.end(gone);
      const decision = lane.decider.decide(pod);
      if (decision.node === undefined) await this.#onNoPlacement(attempt, decision);
      else this.#onPlacement(attempt, decision);
    } catch (error) {
      this.#onError(attempt, error);
    }
  }

  /** Others are asked about this pod, who may take their time: the scheduler goes on meanwhile. */
  #consult(attempt: Attempt, extenders: Extenders): void {
    const { queued, lane } = attempt;
    const { pod, key } = queued;
    const isThere = () => this.#queue.placeOf(key) === "trying";
    const consult = async (signal: AbortSignal): Promise<void> => {
      const decision = await extenders.decide(pod, { lane, isThere, signal });
      const screen = (found: readonly Candidate[]) => extenders.screen(pod, found, this.#snapshot, signal);
      if (!decision) attempt.span.end(gone);
      else if (decision.node === undefined) await this.#onNoPlacement(attempt, decision, screen);
      else this.#onPlacement(attempt, decision);
    };
    this.#writes.start(async () => {
      try {
        await this.#writes.aside(key, consult);
      } catch (error) {
        if (this.#queue.placeOf(key) === "trying") this.#onError(attempt, error);
      }
    });
  }

  #onPlacement({ queued, lane, span }: Attempt, decision: Placement): void {
    const { node, score, feasible, evaluated } = decision;
    this.#assume(queued, decision, this.#scoresFor(lane, queued.pod));
    this.#writes.start(() =>
      currentTrace.run(span.trace, async () => {
        await this.#bind(queued, lane, node);
        span.end({ facts: { node, score, feasible, evaluated } });
      }),
    );
  }

  async #onNoPlacement(
    { queued, lane, span }: Attempt,
    decision: NoPlacement,
    screen?: Search["screen"],
  ): Promise<void> {
    const { pod, key } = queued;
    const { rejections, evaluated } = decision;
    const isThere = () => this.#queue.placeOf(key) === "trying";
    const again = () => this.#queue.again(key);
    const makeRoom = (limits?: CandidateLimits) =>
      lane.preemptor.makeRoom({ key, pod }, rejections, { limits, isThere, again, screen });
    const outcome = rejections.size > 0 ? await postFilter(lane.plugins, { pod, rejections, makeRoom }) : undefined;
    if (!isThere()) return span.end({ facts: { node: "", message: decision.message, evaluated } });
    const message = outcome?.message ? `${decision.message} ${outcome.message}` : decision.message;
    const victims = outcome?.victims.length ?? 0;
    span.end({ facts: { node: "", message, evaluated, ...(victims > 0 ? { victims } : {}) } });
    this.#reject(queued, { ...decision, message }, roomOf(outcome));
    this.#writes.start(() => currentTrace.run(span.trace, () => this.#reportRejection(queued, lane, message, outcome)));
  }

  /** A plugin failed. That is no reason for other pods to wait. */
  #onError({ queued, lane, span }: Attempt, error: unknown): void {
    if (isAbort(error, this.#signal)) throw error;
    const { pod, key } = queued;
    const message = messageOf(error);
    span.end({ facts: { node: "", message, evaluated: 0 } });
    this.#deps.log.error("an attempt to schedule a pod failed", { pod: key, error });
    this.#queue.failed(queued);
    this.#writes.start(() => currentTrace.run(span.trace, () => this.#report(lane, pod, "SchedulerError", message)));
  }

  #reject(
    queued: QueuedPod,
    { rejections, rejectedBy, evaluated, message }: NoPlacement,
    room?: ReturnType<typeof roomOf>,
  ): void {
    const base = { at: this.#deps.clock.now(), attempt: queued.attempts, evaluated };
    this.#verdicts.add(queued.key, { ...base, node: undefined, score: 0, feasible: 0, rejections, message, ...room });
    this.#queue.rejected(queued, rejectedBy);
  }

  /** How good the best nodes are, for those who ask why. Not for every pod of a burst, because it takes time. */
  #scoresFor({ decider }: Lane, pod: Pod): readonly NodeScore[] | undefined {
    return this.#meter.take(this.#deps.clock.now()) ? decider.bestScores(pod, shownNodes) : undefined;
  }

  #assume(
    queued: QueuedPod,
    { node, score, feasible, evaluated }: Placement,
    scores: readonly NodeScore[] | undefined,
  ): void {
    const { pod, key, attempts: attempt } = queued;
    const made = { at: this.#deps.clock.now(), attempt, evaluated, score, feasible, scores };
    this.#verdicts.add(key, { ...made, node, rejections: noRejections, message: `placed on ${node}` });
    this.#queue.decided(queued);
    this.#assumed.add(key);
    this.#snapshot.setPod(key, { ...pod, spec: { ...pod.spec, nodeName: node } });
    // It must not count twice on its node, or on two of them.
    this.#nominations.delete(key);
  }

  async #bind(queued: QueuedPod, lane: Lane, node: string): Promise<void> {
    const { pod, key } = queued;
    const aside = (wait: (signal: AbortSignal) => Promise<void>) => this.#writes.aside(key, wait);
    const [{ log }, signal, waiting] = [this.#deps, this.#signal, this.#waiting];
    const expectation = new Expectation(this.#deps, pod, { node, signal });
    const failure = await bindPod(lane.plugins, { pod, node, signal, waiting, aside, expectation, log });
    if (failure) return await this.#takeBack(queued, lane, failure, expectation);
    const { namespace, name } = pod.metadata;
    lane.events.event(pod, "Normal", "Scheduled", `Successfully assigned ${namespace}/${name} to ${node}`);
  }

  /** The binding failed, so the pod is not on the node. */
  async #takeBack(queued: QueuedPod, lane: Lane, failure: Error, expectation: Expectation): Promise<void> {
    const { key, pod } = queued;
    if (!(failure instanceof NotPermitted) && (await this.#isBoundAnyway(key, pod))) return;
    // Before the pod is tried again: a late write would clear a newer nomination.
    if (this.#assumed.has(key)) await expectation.takeBack();
    // It was seen on a node or deleted meanwhile, and that is already handled.
    if (!this.#assumed.delete(key) || this.#signal.aborted) return;
    const seen = this.#deps.informers.of(Pod).get(pod.metadata);
    const isThere = seen && seen.metadata.uid === pod.metadata.uid && !seen.metadata.deletionTimestamp;
    if (!isThere) return this.#forget(key, pod);
    const assumed = this.#snapshot.podOf(key);
    this.#queue.put(key, seen);
    if (!expectation.isNoted) this.#nominate(key, seen, undefined);
    const refusal = failure instanceof NotPermitted && refusedAt(expectation.node, failure.plugin, failure.message);
    if (refusal) this.#reject(queued, refusal);
    else this.#queue.failed(queued);
    if (assumed && this.#snapshot.removePod(key)) this.#onRoom(assumed, "deleted", groupOf(lane.plugins, seen));
    if (refusal) return await this.#report(lane, seen, "Unschedulable", refusal.message);
    // Another writer was faster, and we will see the result soon.
    if (isConflict(failure.cause) || isNotFound(failure.cause)) return;
    this.#deps.log.warn("binding failed, trying again", { pod: key, error: failure.message });
    await this.#report(lane, seen, "SchedulerError", failure.message);
  }

  /** The answer may have been lost, or another was faster. Until the pod is seen on its node, nobody else gets its room. */
  async #isBoundAnyway(key: string, { metadata }: Pod): Promise<boolean> {
    const actual = await readPod(this.#deps, metadata, this.#signal);
    if (!actual?.spec.nodeName || !this.#assumed.has(key)) return false;
    this.#snapshot.setPod(key, actual);
    return true;
  }

  async #reportRejection({ pod }: QueuedPod, { events }: Lane, message: string, outcome?: Outcome): Promise<void> {
    const what = { pod, reason: "Unschedulable", message, nominate: outcome?.nominate, signal: this.#signal };
    // The pod waits for its victims to end, even if its status could not be written.
    await reportNotScheduled({ ...this.#deps, events }, what).finally(() => outcome?.run(this.#signal));
  }

  #report({ events }: Lane, pod: Pod, reason: string, message: string): Promise<void> {
    return reportNotScheduled({ ...this.#deps, events }, { pod, reason, message, signal: this.#signal });
  }
}
