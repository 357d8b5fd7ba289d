import type { Node, Taint } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import { isFinished } from "#api/core/pod-state.ts";
import { Service } from "#api/core/service.ts";
import type { Client } from "#client/client.ts";
import { createEventRecorder } from "#client/events.ts";
import type { Clock } from "#lib/clock.ts";
import { outOfTime, withDeadline } from "#lib/deadline.ts";
import type { Log } from "#lib/log.ts";
import { Nudge } from "#lib/nudge.ts";
import { type Random, systemRandom } from "#lib/random.ts";
import { isAbort, runTogether } from "#lib/tasks.ts";
import type { Change, Informers } from "#runtime/informer.ts";
import { TraceRecorder } from "#trace/recorder.ts";
import { parseTraceparent } from "#trace/trace.ts";
import { admitPod, admitResize, type NodeRoom, type Rejection } from "./admit.ts";
import { admitDevices, type Devices, mayWantDevices } from "./admit-devices.ts";
import { adoptPod, endOrphan, type ListedPod, type Listing, listRuntime } from "./adopt.ts";
import { createHandle } from "./handle.ts";
import { type PodHost, simulatedHost } from "./host.ts";
import { ImagePuller } from "./images/puller.ts";
import { insist } from "./insist.ts";
import { runLease } from "./lease.ts";
import { runLogRotation } from "./log-rotation.ts";
import type { Machine } from "./machine.ts";
import type { ClusterDns } from "./network/pod-dns.ts";
import { runNode } from "./node.ts";
import type { NodePressure } from "./node-status.ts";
import type { PodDeps } from "./pod-deps.ts";
import { apiPods } from "./pod-objects.ts";
import type { FoundPod } from "./pod-records.ts";
import { type PodVerdict, PodWorker } from "./pod-worker.ts";
import { ReferencedObjects } from "./referenced-objects.ts";
import type { DeviceCount } from "./resources/devices.ts";
import type { ContainerRuntime, RuntimeVersion } from "./runtime/runtime.ts";
import type { KubeletHandle, NodeStats } from "./server/handle.ts";
import { Mirrors } from "./static/mirrors.ts";
import { mirrorOf, type StaticPods } from "./static/static-pods.ts";
import type { ClaimedVolume, VolumeSources } from "./volumes/plugin.ts";
import { ServiceAccountTokens } from "./volumes/service-account-tokens.ts";

export interface KubeletOptions {
  readonly nodeName: string;
  readonly client: Client;
  readonly informers: Informers;
  readonly clock: Clock;
  readonly log: Log;
  /** Where hops are kept. */
  readonly recorder?: TraceRecorder;
  readonly runtime: ContainerRuntime;
  readonly machine: Machine;
  /** By default a machine on which pods exist only as state. */
  readonly host?: PodHost;
  readonly random?: Random;
  readonly puller?: ImagePuller;
  /** What device plugins offer; by default there are none. */
  readonly devices?: Devices;
  /** Pods that are declared in files; by default there are none. */
  readonly staticPods?: StaticPods;
  readonly clusterDns?: ClusterDns;
  readonly labels?: Readonly<Record<string, string>>;
  readonly taints?: readonly Taint[];
  readonly podCidrs?: readonly string[];
  /** Where the node's own server listens. */
  readonly kubeletPort?: number;
  readonly leaseMs?: number;
  /** How often the node is looked at. */
  readonly checkMs?: number;
  pressure?(): NodePressure;
  claimedVolume?(namespace: string, claim: string): Promise<ClaimedVolume | undefined>;
  /** The handler of a RuntimeClass; by default there are none. */
  runtimeHandler?(runtimeClass: string): Promise<string>;
  stats?(signal?: AbortSignal): Promise<NodeStats>;
}

/** Runs the pods that are bound to a node. */
export class Kubelet {
  /** For the node's own server. */
  readonly handle: KubeletHandle;
  readonly #options: KubeletOptions;
  readonly #workers = new Map<string, PodWorker>();
  /** Which pod a container or sandbox belongs to. */
  readonly #owners = new Map<string, string>();
  readonly #endWaits = new Map<string, Set<AbortController>>();
  readonly #orphans = new Map<string, Promise<void>>();
  readonly #claims: Map<string, FoundPod> = new Map();
  /** Pods of which nothing is left here, though the API still has them. */
  readonly #removed = new Set<string>();
  readonly #resources = new Nudge();
  #resyncWanted = Promise.withResolvers<void>();
  #looksAgain = false;

  constructor(options: KubeletOptions) {
    this.#options = options;
    const { nodeName, runtime } = options;
    this.handle = createHandle({
      nodeName,
      runtime,
      workers: () => this.#workers.values(),
      stats: options.stats ?? (async () => this.#noStats()),
      whenEnded: (id) => this.#whenEnded(id),
    });
  }

  /** Ends a pod for good: it is evicted. False if it is not here. */
  fail(podUid: string, verdict: PodVerdict): boolean {
    const worker = this.#workers.get(podUid);
    worker?.fail(verdict);
    return worker !== undefined;
  }

  /** What the node can give has changed: it tells of it soon. */
  resourcesChanged(): void {
    this.#resources.give();
  }

  /** Lives until the signal; the pods go on without it. */
  async run(signal: AbortSignal): Promise<void> {
    const { client, clock, log, nodeName, runtime, staticPods } = this.#options;
    await using events = createEventRecorder(client, { component: "kubelet", host: nodeName, clock, log });
    using objects = new ReferencedObjects({ client, clock, changed: (uids) => this.#referencesChanged(uids) });
    try {
      const version = await insist({ clock, log, signal }, "runtime does not answer", () => runtime.version(signal));
      const deps = this.#podDeps(version, events, objects);
      let nodeUid: string | undefined;
      const mirrors = this.#createMirrors(() => nodeUid);
      const registered = ({ metadata }: Node) => {
        nodeUid = metadata.uid;
        mirrors?.wake();
      };
      await runTogether(signal, [
        (stop) => runNode({ ...this.#nodeDeps(deps), version, registered }, stop),
        (stop) => runLease({ ...this.#leaseDeps(), nodeUid: () => nodeUid }, stop),
        (stop) => this.#hearRuntime(deps, stop),
        (stop) => this.#runPods(deps, mirrors, stop),
        ...(mirrors ? [(stop: AbortSignal) => mirrors.run(stop)] : []),
        ...(staticPods ? [(stop: AbortSignal) => staticPods.run(stop)] : []),
        // Pods that exist only as state write no logs.
        ...(this.#options.host ? [(stop: AbortSignal) => this.#rotateLogs(deps, stop)] : []),
      ]);
    } catch (error) {
      if (!isAbort(error, signal)) throw error;
    } finally {
      await Promise.all(Array.from(this.#workers.values(), (worker) => worker.close()));
      await Promise.all(this.#orphans.values());
      this.#workers.clear();
    }
  }

  #rotateLogs({ clock, log, runtime }: PodDeps, signal: AbortSignal): Promise<void> {
    const running = () =>
      Array.from(this.#workers.values()).flatMap(({ state }) =>
        state.containers.filter((record) => record.state === "running" && record.logPath !== ""),
      );
    return runLogRotation({ clock, log, runtime, running }, signal);
  }

  /** Passes on what happens to containers, as it happens. */
  async #hearRuntime({ runtime }: PodDeps, signal: AbortSignal): Promise<void> {
    for await (const event of runtime.events(signal)) {
      if (event.type === "resync") this.#resyncWanted.resolve();
      else this.#runtimeChanged(event.containerId, event.type);
    }
  }

  /** Compares with the runtime at the start and whenever events may have been missed; pods are begun with after that. */
  async #runPods(deps: PodDeps, mirrors: Mirrors | undefined, signal: AbortSignal): Promise<void> {
    const { clock, log } = deps;
    const { informers, nodeName, staticPods } = this.#options;
    const pods = informers.of(Pod, { fieldSelector: `spec.nodeName=${nodeName}` });
    await Promise.all([pods.synced(signal), informers.of(Service).synced(signal), staticPods?.load()]);
    let unsubscribe: (() => void) | undefined;
    try {
      while (!signal.aborted) {
        await insist({ clock, log, signal }, "runtime not listed", () => this.#resync(deps, pods, signal));
        unsubscribe ??= this.#hearPods(deps, pods, mirrors);
        await this.#untilResync(deps, signal);
      }
    } finally {
      unsubscribe?.();
    }
  }

  #hearPods(deps: PodDeps, pods: PodInformer, mirrors: Mirrors | undefined): () => void {
    const unsubscribe = pods.subscribe((change) => {
      if (mirrorOf(change.object) === undefined) this.#podChanged(deps, change);
      else mirrors?.changed(change);
    });
    const { staticPods } = this.#options;
    if (!staticPods || !mirrors) return unsubscribe;
    const own = { ...deps, pods: staticPods };
    const user = {
      changed: (change: Change<Pod>) => this.#podChanged(own, change),
      statusChanged: () => mirrors.wake(),
    };
    staticPods.attach(user, (pod) => mirrors.statusOf(pod));
    return unsubscribe;
  }

  #createMirrors(nodeUid: () => string | undefined): Mirrors | undefined {
    const { staticPods, nodeName, client, clock, log } = this.#options;
    return staticPods && new Mirrors({ nodeName, client, clock, log, pods: () => staticPods.pods, nodeUid });
  }

  /** A second look follows soon, for what happened before the events came again. */
  async #untilResync({ clock }: PodDeps, signal: AbortSignal): Promise<void> {
    const wanted = this.#resyncWanted;
    const limitMs = this.#looksAgain ? secondLookMs : resyncMs;
    const answer = await withDeadline(limitMs, { clock, signal }, () => wanted.promise);
    this.#looksAgain = answer !== outOfTime;
    if (this.#looksAgain) this.#resyncWanted = Promise.withResolvers<void>();
  }

  /** Takes over what runs, and ends what belongs to nobody. */
  async #resync(deps: PodDeps, pods: PodInformer, signal: AbortSignal): Promise<void> {
    const { runtime } = deps;
    const listing = await listRuntime(runtime, signal);
    for (const worker of this.#workers.values()) worker.compare(listing.containers, listing.readySandboxes);
    const bound = pods.list().filter((pod) => mirrorOf(pod) === undefined);
    const declared = this.#options.staticPods?.uids ?? [];
    const wanted = new Set([...bound.map(({ metadata }) => metadata.uid ?? ""), ...declared]);
    for (const [uid, listed] of listing.pods) {
      if (this.#workers.has(uid)) continue;
      if (wanted.has(uid)) this.#claims.set(uid, await adoptPod(runtime, listed));
      else this.#endOrphan(deps, uid, listed);
    }
    await this.#sweep(deps, listing, wanted);
  }

  #endOrphan({ runtime, host, log }: PodDeps, uid: string, listed: ListedPod): void {
    if (this.#orphans.has(uid)) return;
    log.info("orphaned pod is ended", { pod: listed.identity });
    const ending = endOrphan(runtime, listed)
      .then(() => Promise.all([host.release(uid), host.removeLogs(listed.identity)]))
      .then(() => {})
      .catch((error: unknown) => log.warn("orphaned pod not ended", { pod: listed.identity, error }))
      .finally(() => this.#orphans.delete(uid));
    this.#orphans.set(uid, ending);
  }

  /** Directories of pods that neither run nor are wanted. */
  async #sweep({ host, log }: PodDeps, { pods }: Listing, wanted: ReadonlySet<string>): Promise<void> {
    for (const left of await host.leftovers()) {
      const { uid } = left;
      if (wanted.has(uid) || pods.has(uid) || this.#workers.has(uid) || this.#orphans.has(uid)) continue;
      try {
        await host.release(uid);
        if (left.name !== "") await host.removeLogs(left);
      } catch (error) {
        log.warn("leftovers of a pod not removed", { uid, error });
      }
    }
  }

  #podChanged(deps: PodDeps, change: Change<Pod>): void {
    const { object: pod } = change;
    const uid = pod.metadata.uid ?? "";
    let worker = this.#workers.get(uid);
    if (change.type === "delete") {
      worker?.podGone();
      this.#removed.delete(uid);
      return;
    }
    if (this.#removed.has(uid)) return;
    if (!worker) {
      const found = this.#claims.get(uid);
      this.#claims.delete(uid);
      const isNew = found === undefined && pod.status.startTime === undefined && !pod.metadata.deletionTimestamp;
      const rejection = isNew ? admitPod(pod, this.#roomFor(uid)) : undefined;
      const admission = isNew && !rejection && mayWantDevices(pod) ? this.#admitDevices(pod) : undefined;
      worker = new PodWorker(deps, { pod, found, admission, finished: (gone) => this.#podFinished(gone) });
      this.#workers.set(uid, worker);
      if (rejection) worker.reject(rejection);
    }
    worker.podChanged(pod, parseTraceparent(change.trace));
  }

  async #admitDevices(pod: Pod): Promise<Rejection | undefined> {
    const { devices } = this.#options;
    if (!devices) return undefined;
    await devices.keepOnly(new Set([pod.metadata.uid ?? "", ...this.#activeWorkers().map(({ uid }) => uid)]));
    return await admitDevices(devices, pod);
  }

  #activeWorkers = (): PodWorker[] => Array.from(this.#workers.values()).filter(({ pod }) => !isFinished(pod));

  #podFinished(worker: PodWorker): void {
    const { uid } = worker;
    this.#workers.delete(uid);
    // Somebody's finalizer may keep the object; there is nothing more to do for it here.
    if (!worker.isGone) this.#removed.add(uid);
    for (const worker of this.#workers.values()) worker.roomChanged();
    const { devices, staticPods, log } = this.#options;
    staticPods?.finished(uid);
    devices?.keepOnly(new Set(this.#workers.keys())).catch((error: unknown) => {
      log.warn("devices not given back", { uid, error });
    });
  }

  #roomFor(uid: string): NodeRoom {
    const others = this.#activeWorkers().filter((worker) => worker.uid !== uid);
    return { allocatable: this.#options.machine.allocatable, others: others.map(({ pod }) => pod) };
  }

  #runtimeChanged(id: string, type: string): void {
    const owner = this.#owners.get(id);
    // What we started ourselves is no news.
    if (owner === undefined || type === "started") return;
    this.#workers.get(owner)?.runtimeChanged(id);
    if (type !== "exited" && type !== "deleted") return;
    for (const wait of this.#endWaits.get(id) ?? []) wait.abort();
    this.#endWaits.delete(id);
  }

  #whenEnded(id: string): { signal: AbortSignal; release(): void } {
    const wait = new AbortController();
    const waits = this.#endWaits.get(id) ?? new Set();
    this.#endWaits.set(id, waits.add(wait));
    return { signal: wait.signal, release: () => void waits.delete(wait) };
  }

  #referencesChanged(uids: ReadonlySet<string>): void {
    for (const uid of uids) this.#workers.get(uid)?.referencesChanged();
  }

  #podDeps(version: RuntimeVersion, events: PodDeps["events"], objects: ReferencedObjects): PodDeps {
    const options = this.#options;
    const { client, clock, runtime, machine, informers, nodeName, log } = options;
    const tokens = new ServiceAccountTokens({ client, clock, random: options.random ?? systemRandom });
    const services = informers.of(Service);
    return {
      nodeName,
      client,
      pods: apiPods(client),
      clock,
      log,
      recorder: options.recorder ?? new TraceRecorder({ clock }),
      events,
      runtime,
      runtimeName: version.name,
      host: options.host ?? simulatedHost,
      puller: options.puller ?? new ImagePuller({ runtime, clock }),
      devices: options.devices,
      objects,
      clusterDns: options.clusterDns ?? { servers: [], domain: "cluster.local" },
      hostIps: machine.addresses,
      allocatable: machine.allocatable,
      services: (namespace) => servicesFor(services, namespace),
      admitResize: (pod) => admitResize(pod, this.#roomFor(pod.metadata.uid ?? "")),
      runtimeHandler: options.runtimeHandler ?? noRuntimeClass,
      sourcesFor: (uid) => this.#sourcesFor(uid, objects, tokens),
      claimContainer: (id, uid) => void this.#owners.set(id, uid),
      disclaimContainer: (id) => void this.#owners.delete(id),
    };
  }

  #sourcesFor(uid: string, objects: ReferencedObjects, tokens: ServiceAccountTokens): VolumeSources {
    return {
      configMap: (namespace, name) => objects.configMap(namespace, name, uid),
      secret: (namespace, name) => objects.secret(namespace, name, uid),
      serviceAccountToken: (pod, projection) => tokens.get(pod, projection),
      trustBundle: async () => undefined,
      podCertificate: async () => {
        throw new Error("pod certificates are not enabled");
      },
      claimedVolume: this.#options.claimedVolume ?? (async () => undefined),
    };
  }

  #nodeDeps({ nodeName, client, clock, log, events, runtime }: PodDeps) {
    const { machine, labels = {}, taints = [], podCidrs = [], kubeletPort = 0, checkMs = 10_000 } = this.#options;
    const { pressure = () => noPressure, devices } = this.#options;
    const base = { nodeName, client, clock, log, events, runtime, machine, labels, taints, podCidrs };
    const more = devices ? { changed: () => this.#resources.taken() } : {};
    return { ...base, kubeletPort, checkMs, pressure, devices: () => devices?.counts() ?? noDevices, ...more };
  }

  #leaseDeps() {
    const { nodeName, client, clock, log, random = systemRandom, leaseMs = 10_000 } = this.#options;
    return { nodeName, client, clock, log, random, renewMs: leaseMs };
  }

  #noStats(): NodeStats {
    const { nodeName, clock } = this.#options;
    return { name: nodeName, startedMs: clock.now(), memoryCapacityBytes: 0, pods: [] };
  }
}

interface PodInformer {
  list(): Pod[];
  subscribe(handler: (change: Change<Pod>) => void): () => void;
}

const resyncMs = 300_000;
const secondLookMs = 2000;
const noRuntimeClass = async (name: string): Promise<string> => {
  throw new Error(`failed to get sandbox runtime: RuntimeClass "${name}" is not known to this node`);
};
const noPressure: NodePressure = { memory: false, disk: false, pids: false };
const noDevices: ReadonlyMap<string, DeviceCount> = new Map();

/** Those of the pod's namespace, and the API's own. */
function servicesFor(
  services: { list(namespace?: string): Service[]; get(ref: { namespace: string; name: string }): Service | undefined },
  namespace: string,
): Service[] {
  const api = services.get({ namespace: "default", name: "kubernetes" });
  return api && namespace !== "default" ? [...services.list(namespace), api] : services.list(namespace);
}
