import type { Pod } from "#api/core/pod.ts";
import type { AnyContainer } from "#api/core/pod-containers.ts";
import { isFinished } from "#api/core/pod-state.ts";
import type { Probe } from "#api/core/probe.ts";
import { withDeadline } from "#lib/deadline.ts";
import { equal } from "#lib/equal.ts";
import { isAbort, neverAborted } from "#lib/tasks.ts";
import { formatDuration } from "#schema/duration.ts";
import type { Trace } from "#trace/trace.ts";
import type { Rejection } from "./admit.ts";
import type { StatusInput, Waiting } from "./container-status.ts";
import type { MountedVolumes } from "./host.ts";
import { type ContainerKill, type PodPlan, planPod } from "./plan-pod.ts";
import { containerEvent, type PodDeps, podEvent } from "./pod-deps.ts";
import { type HopFacts, recordHop } from "./pod-hops.ts";
import { type FoundPod, PodRecords } from "./pod-records.ts";
import { PodStarter } from "./pod-starter.ts";
import { type ContainerRecord, containerNamed, type PodState, podFullName, statusNamed } from "./pod-state.ts";
import { PodProbes } from "./probes/pod-probes.ts";
import { type CheckTarget, runProbe } from "./probes/run-probe.ts";
import { removePod } from "./remove-pod.ts";
import { Allocation } from "./resize.ts";
import { resizePod } from "./resize-pod.ts";
import { Restarts } from "./restart-backoff.ts";
import type { Container } from "./runtime/runtime.ts";
import { podStatus } from "./status.ts";
import { StatusWriter } from "./status-writer.ts";
import { Steps } from "./steps.ts";
import { killContainer, killContainers } from "./terminate.ts";
import { VolumeError } from "./volumes/volumes.ts";

/** Makes the pod fail whatever its containers do. */
export interface PodVerdict {
  readonly reason: string;
  readonly message: string;
  readonly graceMs?: number;
  /** The node never began with the pod. */
  readonly isRejection?: boolean;
}

export interface WorkerOptions {
  readonly pod: Pod;
  readonly found: FoundPod | undefined;
  /** Nothing is begun before this resolves: with the reason why the node cannot have the pod, if there is one. */
  readonly admission?: Promise<Rejection | undefined> | undefined;
  /** Nothing is left to do for the pod. */
  finished(worker: PodWorker): void;
}

/** `stopped`: nothing runs any more. `removed`: nothing is left of it, and the API has been told. */
type Life = "running" | "stopping" | "stopped" | "removed";

/**
 * Everything about one pod. Whatever happens wakes it; then it compares what should be with what is, and starts the
 * steps that are missing. These run beside each other and wake it when they are over.
 */
export class PodWorker {
  readonly uid: string;
  readonly #deps: PodDeps;
  readonly #finished: (worker: PodWorker) => void;
  readonly #records: PodRecords;
  readonly #probes: PodProbes;
  readonly #writer: StatusWriter;
  readonly #starter: PodStarter;
  readonly #steps: Steps;
  readonly #allocation: Allocation;
  /** Ends waits for what is not wanted any more: pulls, hooks. Calls to the runtime are let finish. */
  readonly #starting = new AbortController();
  readonly #waiting = new Map<string, Waiting>();
  readonly #restarts = new Restarts();
  /** Sandboxes and containers to which something has happened. */
  readonly #toLookAt = new Set<string>();
  #pod: Pod;
  #life: Life = "running";
  #verdict: PodVerdict | undefined;
  #isAdmitted: boolean;
  #isGone = false;
  #isClosed = false;
  #isAwake = false;
  #isReleased = false;
  #isStale = false;
  #graceMs = Number.POSITIVE_INFINITY;
  #volumes: MountedVolumes | undefined;
  #trace: Trace | undefined;
  #wasReady = false;
  /** When the last container began to run. */
  #startedMs: number | undefined;

  constructor(deps: PodDeps, { pod, found, admission, finished }: WorkerOptions) {
    this.uid = pod.metadata.uid ?? "";
    this.#deps = deps;
    this.#finished = finished;
    this.#pod = pod;
    this.#allocation = new Allocation(pod, deps.admitResize, (type, reason, message) =>
      podEvent(deps, this.#pod, type, reason, message),
    );
    this.#steps = new Steps({
      clock: deps.clock,
      wake: () => this.wake(),
      failed: (step, error) => {
        if (isAbort(error, this.#starting.signal)) return;
        deps.log.debug("step of a pod failed", { pod: podFullName(this.#pod), step, error });
      },
    });
    this.#probes = this.#createProbes();
    const { runtime, host, clock, claimContainer, disclaimContainer } = deps;
    const recordDeps = { runtime, host, clock, claimContainer, disclaimContainer };
    this.#records = new PodRecords(
      { ...recordDeps, pod: () => this.#pod, ended: (id) => this.#probes.stop(id) },
      found,
    );
    this.#writer = this.#createWriter();
    this.#starter = this.#createStarter();
    for (const record of this.#records.running) this.#probe(record, "found");
    this.#isAdmitted = admission === undefined;
    void admission?.then((rejection) => this.#admitted(rejection));
  }

  get pod(): Pod {
    return this.#pod;
  }
  /** The API has it no more. */
  get isGone(): boolean {
    return this.#isGone;
  }
  get state(): PodState {
    return this.#records.state;
  }

  /** The API has a newer version of the pod. */
  podChanged(pod: Pod, trace: Trace | undefined): void {
    if (trace) this.#trace = trace;
    const { labels, annotations, generation } = this.#pod.metadata;
    this.#see(pod);
    const now = this.#pod.metadata;
    // What failed because of what the pod says of itself may work now.
    if (now.generation !== generation || !equal(now.labels, labels) || !equal(now.annotations, annotations)) {
      this.#retryStarts();
    }
    this.#isStale = this.#volumes !== undefined && showsPod(pod);
    this.wake();
  }

  /** The API has the pod no more. */
  podGone(): void {
    this.#isGone = true;
    this.#writer.close();
    this.wake();
  }

  /** Something that its volumes or variables show has changed: what failed for lack of it may work now. */
  referencesChanged(): void {
    this.#retryStarts();
    this.#isStale = this.#volumes !== undefined;
    this.wake();
  }

  #retryStarts(): void {
    this.#steps.retryNow((key) => key === "volumes" || key.startsWith("start "));
  }

  /** Ends the pod for good: it was evicted, for one. */
  fail(verdict: PodVerdict): void {
    this.#verdict ??= verdict;
    this.wake();
  }

  /** The node cannot have the pod: it fails before anything of it was begun. */
  reject({ reason, message }: Rejection): void {
    podEvent(this.#deps, this.#pod, "Warning", reason, message);
    this.fail({ reason, message: `Pod was rejected: ${message}`, isRejection: true });
  }

  #admitted(rejection: Rejection | undefined): void {
    this.#isAdmitted = true;
    if (rejection) this.reject(rejection);
    else this.wake();
  }

  /** Other pods have left or shrunk. */
  roomChanged(): void {
    if (!this.#allocation.state.pending) return;
    this.#pod = this.#allocation.retry();
    this.wake();
  }

  /** Something happened to a container or sandbox of this pod. */
  runtimeChanged(id: string): void {
    this.#toLookAt.add(id);
    this.wake();
  }

  /** Compares with a whole listing of the runtime, after events may have been missed. */
  compare(containers: ReadonlyMap<string, Container>, readySandboxes: ReadonlySet<string>): void {
    for (const id of this.#records.differences(containers, readySandboxes)) this.#toLookAt.add(id);
    // It answers: what failed while it did not need not wait.
    this.#steps.retryNow(() => true);
    this.wake();
  }

  /** Leaves the pod as it is: the kubelet ends, its pods go on. Resolves when no step is under way. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#steps.close();
    this.#starting.abort(new Error("the kubelet ends"));
    this.#probes.stopAll();
    this.#writer.close();
    // What the runtime is asked for goes on without us; the next kubelet finds out how it ended.
    await withDeadline(closeMs, { clock: this.#deps.clock, signal: neverAborted }, () => this.#steps.allDone());
  }

  wake(): void {
    if (this.#isAwake || this.#isClosed) return;
    this.#isAwake = true;
    queueMicrotask(() => {
      this.#isAwake = false;
      this.#sync();
    });
  }

  #see(pod: Pod): void {
    const before = Number(this.#pod.metadata.resourceVersion ?? 0);
    if (Number(pod.metadata.resourceVersion ?? 0) >= before) this.#pod = this.#allocation.update(pod);
  }

  #sync(): void {
    if (this.#isClosed || this.#life === "removed" || !this.#isAdmitted) return;
    const isLeaving = this.#isGone || this.#pod.metadata.deletionTimestamp !== undefined;
    this.#steps.beginTurn();
    this.#lookAround();
    if (this.#life === "running") {
      this.#checkDeadline();
      if (isLeaving || this.#verdict || isFinished(this.#pod)) this.#stop();
      else this.#carryOut(planPod({ ...this.state, pod: this.#pod, probes: this.#probes }));
    }
    if (this.#life === "stopping") {
      this.#steps.try("stop", () => this.#stopAll());
      if (isLeaving) this.#hurry();
    }
    if (this.#life === "stopped" && isLeaving) this.#steps.try("remove", () => this.#remove());
    // A pod that stays, since it has done its work, gives back all but its logs.
    else if (this.#life === "stopped" && !this.#isReleased) this.#steps.try("release", () => this.#release());
    if (!this.#isGone) this.#writer.update();
    this.#noteReady();
    this.#steps.setTimer();
  }

  #lookAround(): void {
    for (const id of this.#toLookAt) {
      this.#steps.try(`look ${id}`, async () => {
        this.#toLookAt.delete(id);
        try {
          await this.#records.look(id);
        } catch (error) {
          this.#toLookAt.add(id);
          throw error;
        }
      });
    }
  }

  #checkDeadline(): void {
    const { startTime } = this.#pod.status;
    const seconds = this.#pod.spec.activeDeadlineSeconds;
    if (seconds === undefined || !startTime || this.#verdict) return;
    const at = Date.parse(startTime) + seconds * 1000;
    if (this.#deps.clock.now() < at) {
      this.#steps.remind("deadline", at);
      return;
    }
    const message = "Pod was active on the node longer than the specified deadline";
    this.#verdict = { reason: "DeadlineExceeded", message };
    podEvent(this.#deps, this.#pod, "Normal", "DeadlineExceeded", message);
  }

  #carryOut(plan: PodPlan): void {
    if (plan.isFinished) {
      this.#stop();
      return;
    }
    if (plan.sandbox === "create") this.#steps.try("sandbox", () => this.#starter.createSandbox(plan.attempt));
    if (!this.#volumes) this.#steps.try("volumes", () => this.#mountVolumes());
    else if (this.#isStale || this.#steps.isDue("tokens")) this.#steps.try("refresh", () => this.#mountVolumes());
    if (plan.resize.length > 0 && !this.#allocation.isResizing) this.#allocation.begin();
    if (this.#allocation.isResizing) {
      const request = { resizes: plan.resize, records: this.#records, allocation: this.#allocation };
      this.#steps.try("resize", () => resizePod(this.#deps, this.#pod, request));
    }
    for (const kill of plan.kill) this.#steps.try(`kill ${kill.id}`, () => this.#kill(kill));
    const isReady = plan.sandbox === "keep" || this.#steps.has("sandbox");
    // What cannot be started yet is not begun with: this wakes again when the sandbox or the volumes are there.
    if (!isReady || !(this.#volumes ?? this.#steps.has("volumes"))) return;
    for (const name of plan.start) if (!this.#isHeldBack(name)) this.#startWhenDue(name, plan);
  }

  /** A container may rely on what the hook of one before it does. */
  #isHeldBack(name: string): boolean {
    const { containers } = this.#pod.spec;
    const before = containers.slice(
      0,
      Math.max(
        0,
        containers.findIndex((one) => one.name === name),
      ),
    );
    return before.some((one) => one.lifecycle?.postStart && this.#steps.has(`start ${one.name}`));
  }

  #startWhenDue(name: string, plan: PodPlan): void {
    const container = containerNamed(this.#pod, name);
    const last = this.#records.newest(name);
    const isHere = plan.sandbox === "keep";
    if (!container || (last?.state === "running" && isHere) || this.#steps.has(`kill ${last?.id}`)) return;
    if (last?.state === "exited" && isHere && this.#backsOff(last)) return;
    this.#steps.try(`start ${name}`, () => this.#starter.start(container));
  }

  /** Whether a container that ended has to wait, and shows it. */
  #backsOff(last: ContainerRecord): boolean {
    const { name } = last;
    const key = `backoff ${name}`;
    const decision = this.#restarts.decide(name, last, this.#deps.clock.now());
    if (decision.at === "now") {
      this.#steps.forget(key);
      return false;
    }
    const { at, backoff } = decision;
    if (!this.#steps.hasReminder(key)) {
      const pod = podFullName(this.#pod);
      const delay = formatDuration(BigInt(backoff.delayMs) * 1_000_000n);
      const message = `back-off ${delay} restarting failed container=${name} pod=${pod}`;
      this.#waiting.set(name, { reason: "CrashLoopBackOff", message });
      const text = `Back-off restarting failed container ${name} in pod ${pod}`;
      containerEvent(this.#deps, this.#pod, name, { type: "Warning", reason: "BackOff", message: text });
    }
    this.#steps.remind(key, at);
    return true;
  }

  /** Records a step as a hop of the apply that caused it. */
  #hop<T>(step: string, facts: HopFacts, work: () => Promise<T>): Promise<T> {
    return recordHop(this.#deps, { pod: this.#pod, parent: this.#trace, facts: { step, ...facts } }, work);
  }

  #noteReady(): void {
    const ready = this.#pod.status.conditions?.find(({ type }) => type === "Ready")?.status === "True";
    if (ready && !this.#wasReady) this.#recordReady();
    this.#wasReady = ready;
  }

  /** The first time it begins when the last container ran: what is between is the wait for probes. */
  #recordReady(): void {
    const startMs = this.#startedMs;
    this.#startedMs = undefined;
    const { containers } = this.#pod.spec;
    const probed = containers.some(({ readinessProbe, startupProbe }) => readinessProbe || startupProbe);
    const wait = probed && startMs !== undefined ? { startMs } : {};
    const facts = { step: probed ? "probes" : "ready" };
    void recordHop(this.#deps, { pod: this.#pod, parent: this.#trace, facts, ...wait }, async () => {});
  }

  async #mountVolumes(): Promise<void> {
    const { host, sourcesFor, clock } = this.#deps;
    const { volumes = [] } = this.#pod.spec;
    if (volumes.length === 0) {
      this.#volumes = noVolumes;
      return;
    }
    this.#isStale = false;
    try {
      const mount = () => host.mountVolumes(this.#pod, sourcesFor(this.uid));
      this.#volumes = this.#volumes ? await mount() : await this.#hop("volumes", {}, mount);
      const hasTokens = volumes.some(({ projected }) => projected?.sources?.some((part) => part.serviceAccountToken));
      if (hasTokens && this.#volumes.size > 0) this.#steps.remind("tokens", clock.now() + tokenCheckMs);
    } catch (error) {
      if (error instanceof VolumeError) podEvent(this.#deps, this.#pod, "Warning", "FailedMount", error.message);
      throw error;
    }
  }

  async #kill({ id, name, message, probe }: ContainerKill): Promise<void> {
    const record = this.#records.get(id);
    const container = containerNamed(this.#pod, name);
    if (!record || !container) return;
    const own = probe && container[`${probe}Probe`];
    const seconds = own?.terminationGracePeriodSeconds ?? this.#pod.spec.terminationGracePeriodSeconds;
    await killContainer(this.#deps, this.#pod, { record, message, graceMs: seconds * 1000, podIp: this.#podIp() });
    await this.#records.look(id);
  }

  #stop(): void {
    this.#life = "stopping";
    this.#starting.abort(new Error("the pod ends"));
  }

  /** Ends everything that runs, then the sandbox. */
  async #stopAll(): Promise<void> {
    await this.#steps.allDone("stop");
    this.#probes.stopRestarting();
    this.#graceMs = this.#graceNow();
    const ended = async ({ id }: ContainerRecord) => {
      await this.#records.look(id);
      this.wake();
    };
    const records = this.#records.running;
    const podIp = this.#podIp();
    await killContainers(this.#deps, this.#pod, { records, graceMs: this.#graceMs, podIp, ended });
    this.#probes.stopAll();
    const { sandbox } = this.state;
    if (sandbox?.isReady) {
      await this.#deps.runtime.stopSandbox(sandbox.id);
      this.#records.sandboxLost(sandbox.id);
    }
    this.#life = "stopped";
  }

  #graceNow(): number {
    const seconds = this.#pod.metadata.deletionGracePeriodSeconds ?? this.#pod.spec.terminationGracePeriodSeconds;
    return this.#verdict?.graceMs ?? seconds * 1000;
  }

  /** Someone wants it to end sooner than it was promised. */
  #hurry(): void {
    const graceMs = this.#graceNow();
    if (!Number.isFinite(this.#graceMs) || graceMs >= this.#graceMs) return;
    this.#graceMs = graceMs;
    for (const { id } of this.#records.running) {
      this.#steps.try(`hurry ${id}`, () => this.#deps.runtime.stopContainer(id, graceMs));
    }
  }

  async #remove(): Promise<void> {
    await this.#steps.done("release");
    await removePod(this.#deps, {
      pod: this.#pod,
      isGone: this.#isGone,
      sandboxIds: this.#records.sandboxIds,
      trace: this.#trace,
      statusWritten: () => this.#writer.flush(),
    });
    this.#writer.close();
    this.#records.forget();
    this.#life = "removed";
    this.#steps.close();
    this.#finished(this);
  }

  async #release(): Promise<void> {
    await this.#deps.host.release(this.uid);
    this.#isReleased = true;
    this.#volumes = undefined;
  }

  #podIp = (): string => (this.#pod.spec.hostNetwork ? this.#deps.hostIps[0] : this.state.sandbox?.ips[0]) ?? "";

  #target = (container: AnyContainer, containerId: string): CheckTarget => ({
    pod: this.#pod,
    container,
    containerId,
    podIp: this.#podIp(),
  });

  #probe(record: ContainerRecord, how: "started" | "found"): void {
    const container = containerNamed(this.#pod, record.name);
    if (!container) return;
    const { id, startedAt, name } = record;
    const status = how === "found" ? statusNamed(this.#pod, name) : undefined;
    const known = status ? { known: { started: status.started ?? false, ready: status.ready } } : {};
    this.#probes.start({ id, container, startedAt, ...known });
  }

  #createProbes(): PodProbes {
    const { runtime, host, clock } = this.#deps;
    return new PodProbes({
      clock,
      check: async (id: string, probe: Probe, signal: AbortSignal) => {
        const record = this.#records.get(id);
        const container = record && containerNamed(this.#pod, record.name);
        if (!container) throw new Error("the container is gone");
        const limits = { clock, signal, timeoutMs: probe.timeoutSeconds * 1000 };
        return await runProbe({ runtime, network: host.network }, this.#target(container, id), probe, limits);
      },
      changed: () => this.wake(),
      tell: (container, reason, message) =>
        containerEvent(this.#deps, this.#pod, container, { type: "Warning", reason, message }),
    });
  }

  #createStarter(): PodStarter {
    return new PodStarter({
      deps: this.#deps,
      records: this.#records,
      steps: this.#steps,
      waiting: this.#waiting,
      signal: this.#starting.signal,
      pod: () => this.#pod,
      volumes: () => this.#volumes,
      target: (container, id) => this.#target(container, id),
      hop: (step, facts, work) => this.#hop(step, facts, work),
      started: (record) => {
        this.#startedMs = this.#deps.recorder.now();
        this.#probe(record, "started");
      },
      wake: () => this.wake(),
    });
  }

  #createWriter(): StatusWriter {
    const { pods: objects, clock, log } = this.#deps;
    return new StatusWriter({
      objects,
      clock,
      log,
      pod: () => this.#pod,
      render: (newest) => podStatus(this.#statusInput(newest)),
      seen: (newest) => {
        this.#see(newest);
        this.wake();
      },
      trace: () => this.#trace,
    });
  }

  #statusInput(pod: Pod): StatusInput {
    const isRunning = this.state.containers.some(({ state }) => state === "running" || state === "created");
    return {
      ...this.state,
      pod,
      previous: pod.status,
      waiting: this.#waiting,
      probes: this.#probes,
      hostIps: this.#deps.hostIps,
      hasEnded: this.#life !== "running" && !isRunning,
      verdict: this.#verdict,
      resize: this.#allocation.state,
      runtimeName: this.#deps.runtimeName,
      now: this.#deps.clock.now(),
    };
  }
}

const closeMs = 1000;
const noVolumes: MountedVolumes = new Map();
/** How often it is looked whether tokens must be renewed. */
const tokenCheckMs = 60_000;

/** Whether some volume shows labels or annotations of the pod itself. */
const showsPod = ({ spec }: Pod): boolean =>
  (spec.volumes ?? []).some(
    ({ downwardAPI, projected }) => downwardAPI ?? projected?.sources?.some((part) => part.downwardAPI),
  );
