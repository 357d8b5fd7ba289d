import type { Node } from "#api/core/node.ts";
import { isFinished } from "#api/core/pod/pod-state.ts";
import type { Pod } from "#api/core/pod.ts";
import { pressureRejection } from "#kubelet/eviction/admit-under-pressure.ts";
import type { Pressure } from "#kubelet/eviction/signals.ts";
import { admitPod, isWorthASecondLook, type NodeRoom, type Rejection } from "#kubelet/node/admit.ts";
import type { Devices } from "#kubelet/node/admit-devices.ts";
import { admitResources, mayWantResources } from "#kubelet/node/admit-resources.ts";
import type { Placements } from "#kubelet/placement/placements.ts";
import type { Log } from "#lib/process/log.ts";
import type { Change } from "#runtime/informer.ts";
import { parseTraceparent } from "#trace/trace.ts";
import { adoptPod, endOrphan, type ListedPod, type Listing, listRuntime } from "./adopt.ts";
import type { Eviction } from "./plan/life.ts";
import type { FoundPod } from "./plan/pod-records.ts";
import type { PodDeps } from "./pod-deps.ts";
import { PodWorker } from "./pod-worker.ts";

export interface NodePodsOptions {
  /** The resources that the node has for pods. */
  readonly allocatable: NodeRoom["allocatable"];
  readonly unsafeSysctls?: NodeRoom["unsafeSysctls"];
  readonly fixedBy?: NodeRoom["fixedBy"];
  readonly features?: NodeRoom["features"];
  /** The Node as it was last seen, and as the API has it now. */
  node?(): Node | undefined;
  newestNode?(): Promise<Node>;
  readonly devices: Devices | undefined;
  /** Processors and memory that pods have for themselves. */
  readonly placements?: Placements | undefined;
  readonly log: Log;
  /** The conditions of pressure that the node has; none by default. */
  pressure?(): readonly Pressure[];
  isShuttingDown?(): boolean;
  /** Called when a pod may have got processors for itself. */
  placed?(): void;
  /** Called when nothing is left of a pod. */
  finished(uid: string): void;
}

/** The pods of one node: a worker for each, what is adopted from an earlier kubelet, and what belongs to no pod. */
export class NodePods {
  readonly #options: NodePodsOptions;
  readonly #workers = new Map<string, PodWorker>();
  /** The pod of each container and sandbox. */
  readonly #owners = new Map<string, string>();
  readonly #endWaits = new Map<string, Set<AbortController>>();
  readonly #orphans = new Map<string, Promise<void>>();
  /** What was found of pods that do not have a worker yet. */
  readonly #found = new Map<string, FoundPod>();
  /** Pods of which nothing is left here, although the API still has them. */
  readonly #removed = new Set<string>();
  readonly #closing = new AbortController();
  /** Pods get resources of their own one after another, because two must not choose the same. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: NodePodsOptions) {
    this.#options = options;
  }

  get workers(): PodWorker[] {
    return [...this.#workers.values()];
  }

  /** A pod in the API was created, changed or deleted. */
  podChanged(deps: PodDeps, change: Change<Pod>): void {
    const { object: pod } = change;
    const uid = pod.metadata.uid;
    if (change.type === "delete") {
      this.#workers.get(uid)?.podGone();
      this.#removed.delete(uid);
      return;
    }
    if (this.#removed.has(uid)) return;
    const worker = this.#workers.get(uid) ?? this.#createWorker(deps, pod);
    worker.podChanged(pod, parseTraceparent(change.trace));
  }

  #createWorker(deps: PodDeps, pod: Pod): PodWorker {
    const uid = pod.metadata.uid;
    const found = this.#found.get(uid);
    this.#found.delete(uid);
    const isNew = found === undefined && pod.status.startTime === undefined && !pod.metadata.deletionTimestamp;
    const { rejection, admission } = isNew ? this.#admit(pod) : {};
    const worker = new PodWorker(deps, { pod, found, admission, finished: (gone) => this.#podFinished(gone) });
    this.#workers.set(uid, worker);
    if (rejection) worker.reject(rejection);
    return worker;
  }

  /** The verdict on a new pod, at once if possible. */
  #admit(pod: Pod): { rejection?: Rejection | undefined; admission?: Promise<Rejection | undefined> } {
    const { newestNode } = this.#options;
    const room = { ...this.roomFor(pod.metadata.uid), node: this.#options.node?.() };
    const verdict = this.#judge(pod, room);
    if (newestNode && isWorthASecondLook(pod, room.node, verdict)) {
      return { admission: this.#judgeAgain(pod, { room, verdict }, newestNode) };
    }
    if (verdict) return { rejection: verdict };
    return mayWantResources(this.#own, pod) ? { admission: this.#admitResources(pod) } : {};
  }

  /** Judges by the pods that were there before this one. Otherwise two pods that come together could exclude each other. */
  async #judgeAgain(
    pod: Pod,
    { room, verdict }: { readonly room: NodeRoom; readonly verdict: Rejection | undefined },
    newestNode: () => Promise<Node>,
  ): Promise<Rejection | undefined> {
    // Without an answer, the first verdict stays.
    const node = await newestNode().catch(() => undefined);
    const refused = node ? this.#judge(pod, { ...room, node }) : verdict;
    return refused ?? (mayWantResources(this.#own, pod) ? await this.#admitResources(pod) : undefined);
  }

  #judge(pod: Pod, room: NodeRoom): Rejection | undefined {
    if (this.#options.isShuttingDown?.()) {
      return { reason: "NodeShutdown", message: "Pod was rejected as the node is shutting down." };
    }
    return pressureRejection(pod, this.#options.pressure?.() ?? []) ?? admitPod(pod, room);
  }

  get #own() {
    const { devices, placements } = this.#options;
    return { devices, placements };
  }

  #admitResources(pod: Pod): Promise<Rejection | undefined> {
    const admission = this.#turn.then(async () => {
      const refused = await admitResources(this.#own, pod, [...this.activePods]);
      this.#options.placed?.();
      return refused;
    });
    this.#turn = admission;
    return admission;
  }

  /** The pods that have not ended. */
  get activePods(): ReadonlySet<string> {
    return new Set(this.#activeWorkers().map(({ uid }) => uid));
  }

  #podFinished({ uid, isGone }: PodWorker): void {
    this.#workers.delete(uid);
    // A finalizer may keep the object, but there is nothing more to do for it here.
    if (!isGone) this.#removed.add(uid);
    for (const worker of this.#workers.values()) worker.roomChanged();
    const { devices, finished, log } = this.#options;
    finished(uid);
    devices?.keepOnly(new Set(this.#workers.keys())).catch((error: unknown) => {
      log.warn("could not release the devices of a pod", { uid, error });
    });
  }

  #activeWorkers = (): PodWorker[] => this.workers.filter(({ pod }) => !isFinished(pod));

  /** The node's resources minus those of all other pods. */
  roomFor(uid: string): NodeRoom {
    const others = this.#activeWorkers().filter((worker) => worker.uid !== uid);
    const { allocatable, unsafeSysctls = [], fixedBy, features } = this.#options;
    return { allocatable, unsafeSysctls, fixedBy, features, others: others.map(({ pod }) => pod) };
  }

  /** Ends a pod with phase Failed and the given reason. False if the pod is not here. */
  evictPod(uid: string, eviction: Eviction): boolean {
    const worker = this.#workers.get(uid);
    worker?.evict(eviction);
    return worker !== undefined;
  }

  /** Whether a pod uses nothing of the node any more but the space of its logs. */
  isCleanedUp(uid: string): boolean {
    return this.#workers.get(uid)?.isReleased ?? true;
  }

  /** Removes the containers of ended pods, with their logs. */
  async removeDeadContainers(): Promise<void> {
    for (const worker of this.workers) await worker.discardContainers();
  }

  /** Objects that these pods refer to have changed. */
  referencesChanged(uids: ReadonlySet<string>): void {
    for (const uid of uids) this.#workers.get(uid)?.referencesChanged();
  }

  /** A token of this pod must be renewed. */
  tokensOutdated(uid: string): void {
    this.#workers.get(uid)?.tokensOutdated();
  }

  /** Assigns a new container to this pod, so that its events reach the pod's worker. */
  claimContainer(id: string, podUid: string): void {
    this.#owners.set(id, podUid);
  }
  disclaimContainer(id: string): void {
    this.#owners.delete(id);
  }

  /** Something happened to a container or sandbox. */
  runtimeChanged(id: string, type: "started" | "exited" | "oom" | "deleted"): void {
    const owner = this.#owners.get(id);
    // We start containers ourselves, so that event is not news.
    if (owner === undefined || type === "started") return;
    this.#workers.get(owner)?.runtimeChanged(id);
    if (type !== "exited" && type !== "deleted") return;
    for (const wait of this.#endWaits.get(id) ?? []) wait.abort();
    this.#endWaits.delete(id);
  }

  /** The signal fires when the container has ended; call `release` when you no longer wait for it. */
  whenEnded(id: string): { readonly signal: AbortSignal; release(): void } {
    const wait = new AbortController();
    const waits = this.#endWaits.get(id) ?? new Set();
    this.#endWaits.set(id, waits.add(wait));
    const release = () => {
      waits.delete(wait);
      if (waits.size === 0 && this.#endWaits.get(id) === waits) this.#endWaits.delete(id);
    };
    return { signal: wait.signal, release };
  }

  /**
   * Compares with everything that the runtime has: takes over what runs, and stops what belongs to no pod. `wanted` returns
   * the pods that the node should run; it is called after the runtime has answered.
   */
  async resync(deps: PodDeps, wanted: () => ReadonlySet<string>, signal: AbortSignal): Promise<void> {
    const { runtime } = deps;
    const listing = await listRuntime(runtime, signal);
    const wantedNow = wanted();
    for (const worker of this.#workers.values()) worker.compare(listing.containers, listing.readySandboxes);
    for (const [uid, listed] of listing.pods) {
      if (this.#workers.has(uid)) continue;
      if (wantedNow.has(uid)) this.#found.set(uid, await adoptPod(deps, listed));
      else this.#endOrphan(deps, uid, listed);
    }
    await this.#sweep(deps, listing, wanted());
  }

  #endOrphan({ runtime, host, log }: PodDeps, uid: string, listed: ListedPod): void {
    if (this.#orphans.has(uid)) return;
    log.info("stopping an orphaned pod", { pod: listed.identity });
    const { signal } = this.#closing;
    const ending = endOrphan(runtime, listed, signal)
      .then(() => Promise.all([host.release(uid), host.removeLogs(listed.identity)]))
      .then(() => {})
      .catch((error: unknown) => {
        if (!signal.aborted) log.warn("could not stop an orphaned pod", { pod: listed.identity, error });
      })
      .finally(() => this.#orphans.delete(uid));
    this.#orphans.set(uid, ending);
  }

  /** Removes the directories of pods that neither run nor should run. */
  async #sweep({ host, log }: PodDeps, { pods }: Listing, wanted: ReadonlySet<string>): Promise<void> {
    for (const left of await host.leftovers()) {
      const { uid } = left;
      if (wanted.has(uid) || pods.has(uid) || this.#workers.has(uid) || this.#orphans.has(uid)) continue;
      try {
        await host.release(uid);
        if (left.name !== "") await host.removeLogs(left);
      } catch (error) {
        log.warn("could not remove what a pod left", { uid, error });
      }
    }
  }

  /** Leaves all pods as they are. Resolves when no step is running. The next kubelet continues with orphaned pods. */
  async close(): Promise<void> {
    // An orphan's grace period may be days.
    this.#closing.abort(new Error("the kubelet ends"));
    await Promise.all(this.workers.map((worker) => worker.close()));
    await Promise.all(this.#orphans.values());
    this.#workers.clear();
  }
}
