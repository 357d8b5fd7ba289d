import { Node, type Taint } from "#api/core/node.ts";
import { isFinished } from "#api/core/pod/pod-state.ts";
import { Pod } from "#api/core/pod.ts";
import { Service } from "#api/core/service.ts";
import { RuntimeClass } from "#api/node/runtime-class.ts";
import type { Client } from "#client/client.ts";
import { createEventRecorder } from "#client/events.ts";
import type { ClaimManager } from "#kubelet/claims/claim-manager.ts";
import { podClaims } from "#kubelet/claims/pod-claims.ts";
import type { Clock } from "#lib/async/clock.ts";
import { outOfTime, withDeadline } from "#lib/async/deadline.ts";
import { Nudge } from "#lib/async/nudge.ts";
import { isAbort, runTogether } from "#lib/async/tasks.ts";
import { type Random, systemRandom } from "#lib/data/random.ts";
import type { Log } from "#lib/process/log.ts";
import type { Change, Informers } from "#runtime/informer.ts";
import { TraceRecorder } from "#trace/recorder.ts";
import { ReferencedObjects } from "./config/referenced-objects.ts";
import { createHandle } from "./handle.ts";
import type { PodHost } from "./host/host.ts";
import { ImagePuller } from "./images/puller.ts";
import { insist } from "./insist.ts";
import { runLogRotation } from "./logs/log-rotation.ts";
import type { ClusterDns } from "./network/pod-dns.ts";
import { admitResize } from "./node/admit.ts";
import type { Devices } from "./node/admit-devices.ts";
import { runLease } from "./node/lease.ts";
import type { Machine } from "./node/machine.ts";
import { runNode } from "./node/node.ts";
import type { NodePressure } from "./node/node-status.ts";
import { runSchedulableEvents } from "./node/schedulable-events.ts";
import { runStorageWatch, withWritableLayers } from "./node/storage-watch.ts";
import { NodePods } from "./pod/node-pods.ts";
import type { Eviction } from "./pod/plan/life.ts";
import type { PodDeps } from "./pod/pod-deps.ts";
import { apiPods } from "./pod/pod-objects.ts";
import type { DeviceCount } from "./resources/devices.ts";
import type { StorageEviction } from "./resources/storage-limits.ts";
import type { ContainerRuntime, RuntimeVersion } from "./runtime/runtime.ts";
import type { KubeletHandle, NodeStats } from "./server/handle.ts";
import { createSimulatedHost } from "./simulated-host.ts";
import { Mirrors } from "./static/mirrors.ts";
import { mirrorOf, type StaticPods } from "./static/static-pods.ts";
import { claimedVolume } from "./volumes/claimed-volume.ts";
import type { VolumeSources } from "./volumes/plugin.ts";
import { type PodTokens, ServiceAccountTokens } from "./volumes/written/service-account-tokens.ts";

export interface KubeletOptions {
  readonly nodeName: string;
  readonly client: Client;
  readonly informers: Informers;
  readonly clock: Clock;
  readonly log: Log;
  /** Records hops. */
  readonly recorder?: TraceRecorder;
  readonly runtime: ContainerRuntime;
  readonly machine: Machine;
  /** By default a simulated machine, on which pods exist only as state. */
  readonly host?: PodHost;
  readonly random?: Random;
  readonly puller?: ImagePuller;
  /** Where pods get their tokens; from the API server by default. */
  readonly tokens?: PodTokens;
  /** What device plugins offer; none by default. */
  readonly devices?: Devices;
  /** Drivers of devices; default: none, and pods with claims run without them. */
  readonly claims?: ClaimManager;
  /** Pods that are declared in files; none by default. */
  readonly staticPods?: StaticPods;
  readonly clusterDns?: ClusterDns;
  readonly labels?: Readonly<Record<string, string>>;
  readonly taints?: readonly Taint[];
  readonly podCidrs?: readonly string[];
  /** The port of the kubelet's HTTP server. */
  readonly kubeletPort?: number;
  readonly leaseMs?: number;
  /** How often the node's status is checked. */
  readonly checkMs?: number;
  pressure?(): NodePressure;
  stats?(signal?: AbortSignal): Promise<NodeStats>;
}

/** Runs the pods that are bound to one node. */
export class Kubelet {
  /** For the kubelet's HTTP server. */
  readonly handle: KubeletHandle;
  readonly #options: KubeletOptions;
  readonly #pods: NodePods;
  readonly #tokens: PodTokens;
  readonly #resources = new Nudge();
  #resyncWanted = Promise.withResolvers<void>();
  #looksAgain = false;

  constructor(options: KubeletOptions) {
    this.#options = options;
    const { nodeName, runtime, machine, devices, client, clock, log, staticPods } = options;
    this.#tokens =
      options.tokens ?? new ServiceAccountTokens({ client, clock, random: options.random ?? systemRandom });
    const finished = (uid: string) => {
      this.#tokens.forgetPod(uid);
      staticPods?.finished(uid);
    };
    this.#pods = new NodePods({ allocatable: machine.allocatable, devices, log, finished });
    this.handle = createHandle({
      nodeName,
      runtime,
      workers: () => this.#pods.workers,
      stats: options.stats ?? (async () => this.#noStats()),
      whenEnded: (id) => this.#pods.whenEnded(id),
    });
  }

  /** Ends a pod with phase Failed and the given reason. False if the pod is not here. */
  evictPod(uid: string, eviction: Eviction): boolean {
    return this.#pods.evictPod(uid, eviction);
  }

  /** The node's resources have changed, so its status is reported soon. */
  resourcesChanged(): void {
    this.#resources.give();
  }

  /** Runs until the signal. The pods continue without it. */
  async run(signal: AbortSignal): Promise<void> {
    const { client, informers, clock, log, nodeName, runtime, staticPods } = this.#options;
    await using events = createEventRecorder(client, { component: "kubelet", host: nodeName, clock, log });
    using objects = new ReferencedObjects({ client, clock, changed: (uids) => this.#pods.referencesChanged(uids) });
    try {
      const version = await insist({ clock, log, signal }, "runtime does not answer", () => runtime.version(signal));
      const deps = this.#podDeps(version, events, objects);
      let nodeUid: string | undefined;
      const mirrors = this.#createMirrors(() => nodeUid);
      const isReal = !deps.host.isSimulated;
      const registered = ({ metadata }: Node) => {
        nodeUid = metadata.uid;
        mirrors?.wake();
      };
      await runTogether(signal, [
        (stop) => runNode({ ...this.#nodeDeps(deps), version, registered }, stop),
        (stop) => runSchedulableEvents({ nodeName, informers, events }, stop),
        (stop) => runLease({ ...this.#leaseDeps(), nodeUid: () => nodeUid }, stop),
        (stop) => this.#followRuntime(deps, stop),
        (stop) => this.#runPods(deps, mirrors, stop),
        ...(mirrors ? [(stop: AbortSignal) => mirrors.run(stop)] : []),
        ...(staticPods ? [(stop: AbortSignal) => staticPods.run(stop)] : []),
        // Simulated pods write no logs or files.
        ...(isReal ? [(stop: AbortSignal) => this.#rotateLogs(deps, stop)] : []),
        ...(isReal ? [(stop: AbortSignal) => this.#watchStorage(deps, stop)] : []),
      ]);
    } catch (error) {
      if (!isAbort(error, signal)) throw error;
    } finally {
      await this.#pods.close();
    }
  }

  #rotateLogs({ clock, log, runtime }: PodDeps, signal: AbortSignal): Promise<void> {
    const running = () =>
      this.#pods.workers.flatMap(({ state }) =>
        state.containers.filter((record) => record.state === "running" && record.logPath !== ""),
      );
    return runLogRotation({ clock, log, runtime, running }, signal);
  }

  #watchStorage({ clock, log, runtime, host }: PodDeps, signal: AbortSignal): Promise<void> {
    const measure = async (pods: readonly Pod[], limit: AbortSignal) => {
      const [onDisk, stats] = await Promise.all([host.storageOf(pods, limit), runtime.containerStats(limit)]);
      return withWritableLayers(onDisk, stats);
    };
    const pods = () => this.#pods.workers.map(({ pod }) => pod).filter((pod) => !isFinished(pod));
    const evict = ({ uid, message }: StorageEviction) => void this.evictPod(uid, { message });
    return runStorageWatch({ clock, log, pods, measure, evict }, signal);
  }

  /** Passes on the runtime's events as they happen. */
  async #followRuntime({ runtime }: PodDeps, signal: AbortSignal): Promise<void> {
    for await (const event of runtime.events(signal)) {
      if (event.type === "resync") this.#resyncWanted.resolve();
      else this.#pods.runtimeChanged(event.containerId, event.type);
    }
  }

  /** Compares with the runtime at the start and whenever events may have been missed. Pods start only after that. */
  async #runPods(deps: PodDeps, mirrors: Mirrors | undefined, signal: AbortSignal): Promise<void> {
    const { clock, log } = deps;
    const { informers, nodeName, staticPods } = this.#options;
    const pods = informers.of(Pod, { fieldSelector: `spec.nodeName=${nodeName}` });
    await Promise.all([pods.synced(signal), informers.of(Service).synced(signal), staticPods?.load()]);
    let unsubscribe: (() => void) | undefined;
    try {
      while (!signal.aborted) {
        await insist({ clock, log, signal }, "the runtime's pods could not be listed", () =>
          this.#resync(deps, pods, signal),
        );
        unsubscribe ??= this.#followPods(deps, pods, mirrors);
        await this.#untilResync(deps, signal);
      }
    } finally {
      unsubscribe?.();
    }
  }

  #followPods(deps: PodDeps, pods: PodInformer, mirrors: Mirrors | undefined): () => void {
    const unsubscribe = pods.subscribe((change) => {
      if (mirrorOf(change.object) === undefined) this.#pods.podChanged(deps, change);
      else mirrors?.changed(change);
    });
    const { staticPods } = this.#options;
    if (!staticPods || !mirrors) return unsubscribe;
    const own = { ...deps, pods: staticPods };
    const user = {
      changed: (change: Change<Pod>) => this.#pods.podChanged(own, change),
      statusChanged: () => mirrors.wake(),
    };
    staticPods.attach(user, (pod) => mirrors.statusOf(pod));
    return unsubscribe;
  }

  #createMirrors(nodeUid: () => string | undefined): Mirrors | undefined {
    const { staticPods, nodeName, client, clock, log } = this.#options;
    return staticPods && new Mirrors({ nodeName, client, clock, log, pods: () => staticPods.pods, nodeUid });
  }

  /** Resyncs once more shortly after the event stream is back, for what happened before it. */
  async #untilResync({ clock }: PodDeps, signal: AbortSignal): Promise<void> {
    const wanted = this.#resyncWanted;
    const limitMs = this.#looksAgain ? secondLookMs : resyncMs;
    const answer = await withDeadline(limitMs, { clock, signal }, () => wanted.promise);
    this.#looksAgain = answer !== outOfTime;
    if (this.#looksAgain) this.#resyncWanted = Promise.withResolvers<void>();
  }

  /** Takes over what runs, and stops what belongs to no pod. */
  async #resync(deps: PodDeps, pods: PodInformer, signal: AbortSignal): Promise<void> {
    const wanted = () => {
      const bound = pods.list().filter((pod) => mirrorOf(pod) === undefined);
      const declared = this.#options.staticPods?.uids ?? [];
      return new Set([...bound.map(({ metadata }) => metadata.uid), ...declared]);
    };
    await this.#pods.resync(deps, wanted, signal);
  }

  #podDeps(version: RuntimeVersion, events: PodDeps["events"], objects: ReferencedObjects): PodDeps {
    const options = this.#options;
    const { client, clock, runtime, machine, informers, nodeName, log } = options;
    const services = informers.of(Service);
    return {
      nodeName,
      pods: apiPods(client),
      clock,
      log,
      recorder: options.recorder ?? new TraceRecorder({ clock }),
      events,
      runtime,
      runtimeName: version.name,
      host: options.host ?? createSimulatedHost({ clock, allocatable: machine.allocatable }),
      puller: options.puller ?? new ImagePuller({ runtime, clock }),
      devices: options.devices,
      claims: options.claims && podClaims(options.claims, client),
      objects,
      clusterDns: options.clusterDns ?? { servers: [], domain: "cluster.local" },
      hostIps: machine.addresses,
      allocatable: machine.allocatable,
      services: (namespace) => servicesFor(services, namespace),
      admitResize: (pod) => admitResize(pod, this.#pods.roomFor(pod.metadata.uid)),
      runtimeHandler: async (name) => (await options.client.get(RuntimeClass, { name })).handler,
      sourcesFor: (uid) => this.#sourcesFor(uid, objects),
      claimContainer: (id, uid) => this.#pods.claimContainer(id, uid),
      disclaimContainer: (id) => this.#pods.disclaimContainer(id),
    };
  }

  #sourcesFor(uid: string, objects: ReferencedObjects): VolumeSources {
    return {
      configMap: (namespace, name) => objects.configMap(namespace, name, uid),
      secret: (namespace, name) => objects.secret(namespace, name, uid),
      serviceAccountToken: (pod, projection) => this.#tokens.get(pod, projection),
      trustBundle: async () => undefined,
      podCertificate: async () => {
        throw new Error("pod certificates are not enabled");
      },
      claimedVolume: (pod, claim) => claimedVolume(this.#options, pod, claim),
    };
  }

  #nodeDeps({ nodeName, clock, log, events, runtime }: PodDeps) {
    const {
      client,
      machine,
      labels = {},
      taints = [],
      podCidrs = [],
      kubeletPort = 0,
      checkMs = 10_000,
    } = this.#options;
    const { pressure = () => noPressure, devices } = this.#options;
    const own = this.#options.informers.of(Node, { fieldSelector: `metadata.name=${nodeName}` });
    const seen = () => own.get({ name: nodeName });
    const base = { nodeName, client, clock, log, events, runtime, machine, labels, taints, podCidrs, seen };
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
const noPressure: NodePressure = { memory: false, disk: false, pids: false };
const noDevices: ReadonlyMap<string, DeviceCount> = new Map();

/** The services of the pod's namespace, and the API server's own. */
function servicesFor(
  services: { list(namespace?: string): Service[]; get(ref: { namespace: string; name: string }): Service | undefined },
  namespace: string,
): Service[] {
  const api = services.get({ namespace: "default", name: "kubernetes" });
  return api && namespace !== "default" ? [...services.list(namespace), api] : services.list(namespace);
}
