import { isFinished } from "#api/core/pod/pod-state.ts";
import type { Pod } from "#api/core/pod.ts";
import { podFullName } from "#kubelet/config/runtime-labels.ts";
import type { Rejection } from "#kubelet/node/admit.ts";
import type { PodProbes, ProbeCount } from "#kubelet/probes/pod-probes.ts";
import type { Container } from "#kubelet/runtime/runtime.ts";
import { withDeadline } from "#lib/async/deadline.ts";
import { realQueueMicrotask } from "#lib/async/real-timers.ts";
import { isAbort, neverAborted } from "#lib/async/tasks.ts";
import { equal } from "#lib/data/equal.ts";
import type { Trace } from "#trace/trace.ts";
import { ImageVolumes } from "./containers/image-volumes.ts";
import { createPodProbes, probeFound } from "./effects/create-probes.ts";
import { PodEffects } from "./effects/pod-effects.ts";
import { PodTrace } from "./effects/pod-hops.ts";
import { tellBackOff } from "./effects/tell-back-off.ts";
import {
  type Eviction,
  evictionVerdict,
  hasStopped,
  isOver,
  type Life,
  lifeAfter,
  type PodVerdict,
} from "./plan/life.ts";
import { planPod } from "./plan/plan-pod.ts";
import { PodFacts } from "./plan/pod-facts.ts";
import { type FoundPod, PodRecords } from "./plan/pod-records.ts";
import { type PodState } from "./plan/pod-state.ts";
import type { PodPlan, PodView } from "./plan/pod-view.ts";
import { Allocation } from "./plan/resize.ts";
import type { Step } from "./plan/step.ts";
import { Steps } from "./plan/steps.ts";
import { type PodDeps, podEvent } from "./pod-deps.ts";
import { createStatusWriter } from "./status/create-status-writer.ts";
import type { StatusWriter } from "./status/status-writer.ts";

export interface WorkerOptions {
  readonly pod: Pod;
  /** What an earlier kubelet left of it. */
  readonly found: FoundPod | undefined;
  /** The pod starts only after this resolves; with a reason, if the node cannot run it. */
  readonly admission?: Promise<Rejection | undefined> | undefined;
  /** Nothing is left to do for the pod. */
  finished(worker: PodWorker): void;
}

/**
 * Everything about one pod. Every event wakes it; then it plans from what it knows (`planPod`) and starts the steps of
 * the plan (`PodEffects`). Steps run concurrently and wake it when they end. `life.ts` draws the states.
 */
export class PodWorker {
  readonly uid: string;
  readonly #deps: PodDeps;
  readonly #finished: (worker: PodWorker) => void;
  readonly #facts: PodFacts;
  readonly #steps: Steps;
  readonly #effects: PodEffects;
  readonly #probes: PodProbes;
  readonly #writer: StatusWriter;
  readonly #trace: PodTrace;
  readonly #allocation: Allocation;
  /** Cancels pulls and hooks that are no longer needed. Calls to the runtime are left to finish. */
  readonly #starting = new AbortController();
  #life: Life;
  #pod: Pod;
  #isGone = false;
  #verdict: PodVerdict | undefined;
  #turn: "none" | "due" = "none";

  constructor(deps: PodDeps, { pod, found, admission, finished }: WorkerOptions) {
    this.uid = pod.metadata.uid;
    this.#deps = deps;
    this.#finished = finished;
    this.#pod = pod;
    this.#life = { phase: admission ? "admitting" : "running" };
    this.#allocation = new Allocation(pod, deps.admitResize, (type, reason, message) =>
      podEvent(deps, this.#pod, type, reason, message),
    );
    this.#trace = new PodTrace(deps);
    this.#probes = createPodProbes({
      deps,
      pod: () => this.#pod,
      facts: () => this.#facts,
      changed: () => this.wake(),
    });
    this.#facts = new PodFacts(this.#createRecords(found), deps.maxRestartMs);
    this.#writer = createStatusWriter({
      deps,
      facts: this.#facts,
      probes: this.#probes,
      allocation: this.#allocation,
      trace: this.#trace,
      view: () => this.#view(deps.clock.now()),
      seen: (newest) => {
        // The watch has usually shown it by now.
        if (this.#knows(newest)) return;
        this.#see(newest);
        this.wake();
      },
    });
    this.#effects = this.#createEffects();
    this.#steps = this.#createSteps();
    probeFound(this.#probes, pod, this.#facts.records.running);
    void admission?.then((rejection) => this.#admitted(rejection));
  }

  get pod(): Pod {
    return this.#pod;
  }
  /** Whether the API no longer has the pod. */
  get isGone(): boolean {
    return this.#isGone;
  }
  get state(): PodState {
    return this.#facts.records.state;
  }
  get probeCounts(): Iterable<ProbeCount> {
    return this.#probes.counts;
  }
  /** Whether it has ended and uses nothing of the node but the space of its logs. */
  get isReleased(): boolean {
    return this.#life.phase === "stopped" ? this.#life.isReleased : hasStopped(this.#life);
  }

  /** The API has a newer version of the pod. */
  podChanged(pod: Pod, trace: Trace | undefined): void {
    this.#trace.causedBy(trace);
    this.#see(pod);
    this.wake();
  }

  /** The API no longer has the pod. */
  podGone(): void {
    this.#isGone = true;
    this.#writer.close();
    this.wake();
  }

  /** An object that its volumes or variables refer to has changed, so failed steps may succeed now. */
  referencesChanged(): void {
    this.#steps.retryNow(isStart);
    this.#facts.volumesOutdated();
    this.wake();
  }

  /** A token in its volumes must be renewed. */
  tokensOutdated(): void {
    if (!this.#facts.mounted) return;
    this.#facts.volumesOutdated();
    this.wake();
  }

  /** Ends the pod with phase Failed. The first verdict wins, and a pod that has ended keeps its phase. */
  evict(eviction: Eviction): void {
    if (this.#verdict || isFinished(this.#pod) || hasStopped(this.#life)) return;
    const verdict = evictionVerdict(eviction);
    podEvent(this.#deps, this.#pod, "Warning", verdict.reason, verdict.message);
    this.#judge(verdict);
  }

  /** Fails the pod before it has started, because the node cannot run it. */
  reject({ reason, message }: Rejection): void {
    podEvent(this.#deps, this.#pod, "Warning", reason, message);
    this.#judge({ reason, message: `Pod was rejected: ${message}`, isRejection: true });
  }

  #judge(verdict: PodVerdict): void {
    this.#verdict ??= verdict;
    this.wake();
  }

  #admitted(rejection: Rejection | undefined): void {
    if (this.#life.phase !== "admitting") return;
    this.#life = { phase: "running" };
    if (rejection) this.reject(rejection);
    else this.wake();
  }

  /** Removes the containers of a pod that has ended, with their logs, to make room on the disk. */
  async discardContainers(): Promise<void> {
    if (!this.isReleased || !isFinished(this.#pod)) return;
    for (const { id } of this.state.containers) await this.#effects.run({ do: "discard", id });
  }

  /** Other pods have ended or shrunk. */
  roomChanged(): void {
    if (!this.#allocation.state.pending) return;
    this.#pod = this.#allocation.retry();
    this.wake();
  }

  /** Something happened to a container or sandbox of this pod. */
  runtimeChanged(id: string): void {
    this.#facts.toLookAt.add(id);
    this.wake();
  }

  /** Compares with a full listing of the runtime, after events may have been missed. */
  compare(containers: ReadonlyMap<string, Container>, readySandboxes: ReadonlySet<string>): void {
    for (const id of this.#facts.records.differences(containers, readySandboxes)) this.#facts.toLookAt.add(id);
    // The runtime answers again, so failed steps need not wait.
    this.#steps.retryNow(() => true);
    this.wake();
  }

  /** Leaves the pod as it is when the kubelet ends. Resolves when no step is running. */
  async close(): Promise<void> {
    this.#life = { phase: "left" };
    this.#steps.close();
    this.#starting.abort(new Error("the kubelet ends"));
    this.#probes.stopAll();
    this.#writer.close();
    // Calls to the runtime continue without us, and the next kubelet finds their results.
    await withDeadline(closeMs, { clock: this.#deps.clock, signal: neverAborted }, () => this.#steps.allDone());
  }

  wake(): void {
    if (this.#turn === "due" || isOver(this.#life)) return;
    this.#turn = "due";
    realQueueMicrotask(() => {
      this.#turn = "none";
      this.#takeTurn();
    });
  }

  /** Whether it has seen exactly this version. */
  #knows({ metadata }: Pod): boolean {
    return metadata.resourceVersion !== undefined && metadata.resourceVersion === this.#pod.metadata.resourceVersion;
  }

  #see(pod: Pod): void {
    const before = this.#pod;
    if (Number(pod.metadata.resourceVersion ?? 0) < Number(before.metadata.resourceVersion ?? 0)) return;
    this.#pod = this.#allocation.update(pod);
    // Most changes are those of the status that we write.
    if (isSameButForStatus(this.#pod, before)) return;
    // A step that failed because of the pod's own fields may succeed now.
    this.#steps.retryNow(isStart);
    if (showsPod(pod)) this.#facts.volumesOutdated();
  }

  /** Plans until the life no longer changes, and starts the steps of every plan. */
  #takeTurn(): void {
    const now = this.#steps.beginTurn();
    for (;;) {
      if (isOver(this.#life)) return;
      const before = this.#life;
      const plan = planPod(this.#view(now));
      this.#carryOut(plan);
      if (plan.life.phase === before.phase) {
        this.#trace.noteReady(this.#pod);
        this.#steps.endTurn(plan.wakeAt);
        return;
      }
    }
  }

  #view(now: number): PodView {
    const { records, volumes, images, mayHaveLostSandbox, restarts, toLookAt } = this.#facts;
    return {
      ...records.state,
      pod: this.#pod,
      isGone: this.#isGone,
      life: this.#life,
      verdict: this.#verdict,
      toLookAt,
      volumes,
      images,
      mayHaveLostSandbox,
      isResizing: this.#allocation.isResizing,
      probes: this.#probes,
      restarts,
      steps: this.#steps,
      now,
    };
  }

  #carryOut(plan: PodPlan): void {
    if (plan.verdict && !this.#verdict) {
      this.#verdict = plan.verdict;
      podEvent(this.#deps, this.#pod, "Normal", plan.verdict.reason, plan.verdict.message);
    }
    if (plan.life.phase !== this.#life.phase) this.#enter(plan.life);
    this.#life = plan.life;
    for (const backOff of plan.backOffs) tellBackOff(this.#deps, this.#facts, { pod: this.#pod, backOff });
    if (plan.startsResize) this.#allocation.begin();
    for (const step of plan.steps) this.#steps.try(step);
    if (plan.reports) this.#writer.update();
  }

  #enter({ phase }: Life): void {
    if (phase !== "stopping") return;
    this.#starting.abort(new Error("the pod ends"));
    this.#probes.stopRestarting();
  }

  #stepSucceeded(step: Step): void {
    this.#life = lifeAfter(this.#life, step);
    if (this.#life.phase !== "gone") return;
    this.#writer.close();
    this.#steps.close();
    this.#finished(this);
  }

  #createRecords(found: FoundPod | undefined): PodRecords {
    const { runtime, host, clock, claimContainer, disclaimContainer } = this.#deps;
    const ended = (id: string) => {
      this.#probes.stop(id);
      this.#effects.ended(id);
      this.wake();
    };
    const deps = { runtime, host, clock, claimContainer, disclaimContainer, pod: () => this.#pod, ended };
    return new PodRecords(deps, found);
  }

  #createSteps(): Steps {
    return new Steps({
      clock: this.#deps.clock,
      carryOut: (step) => this.#effects.run(step),
      succeeded: (step) => this.#stepSucceeded(step),
      failed: (step, error) => {
        if (isAbort(error, this.#starting.signal)) return;
        // What stays on the node after its pod is gone is visible nowhere else.
        const level = step.do === "release" || step.do === "clean" ? "warn" : "debug";
        this.#deps.log[level]("step of a pod failed", { pod: podFullName(this.#pod), step, error });
      },
      wake: () => this.wake(),
    });
  }

  #createEffects(): PodEffects {
    return new PodEffects({
      deps: this.#deps,
      facts: this.#facts,
      trace: this.#trace,
      probes: this.#probes,
      allocation: this.#allocation,
      imageVolumes: new ImageVolumes(this.#deps),
      starting: this.#starting.signal,
      pod: () => this.#pod,
      statusWritten: () => this.#writer.flush(),
    });
  }
}

const closeMs = 1000;

/** Steps that may succeed once a missing object exists. */
const isStart = (step: Step): boolean => step.do === "volumes" || step.do === "image" || step.do === "create";

/** Whether nothing has changed that steps and volumes read. */
const isSameButForStatus = ({ metadata, spec }: Pod, before: Pod): boolean =>
  metadata.generation === before.metadata.generation &&
  equal(metadata.labels, before.metadata.labels) &&
  equal(metadata.annotations, before.metadata.annotations) &&
  equal(spec, before.spec);

/** Whether a volume shows labels or annotations of the pod itself. */
const showsPod = ({ spec }: Pod): boolean =>
  (spec.volumes ?? []).some(
    ({ downwardAPI, projected }) => downwardAPI ?? projected?.sources?.some((part) => part.downwardAPI),
  );
