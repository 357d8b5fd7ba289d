import { Node } from "#api/core/node.ts";
import { isFinished } from "#api/core/pod/pod-state.ts";
import { Pod } from "#api/core/pod.ts";
import { Service } from "#api/core/service.ts";
import { RuntimeClass } from "#api/node/runtime-class.ts";
import { createEventRecorder } from "#client/events.ts";
import { podClaims } from "#kubelet/claims/pod-claims.ts";
import { outOfTime, withDeadline } from "#lib/async/deadline.ts";
import { Nudge } from "#lib/async/nudge.ts";
import { isAbort, orAborted, runTogether } from "#lib/async/tasks.ts";
import { systemRandom } from "#lib/data/random.ts";
import type { Change } from "#runtime/informer.ts";
import { TraceRecorder } from "#trace/recorder.ts";
import { checkpointFile } from "./checkpoint-file.ts";
import { ReferencedObjects } from "./config/referenced-objects.ts";
import { servicesFor } from "./config/services-for.ts";
import { type EvictionDeps, runEviction } from "./eviction/eviction.ts";
import type { Pressure } from "./eviction/signals.ts";
import { createHandle } from "./handle.ts";
import { CredentialPlugins } from "./images/credential-plugins.ts";
import { ImagePuller } from "./images/puller.ts";
import { insist } from "./insist.ts";
import type { KubeletOptions } from "./kubelet-options.ts";
import { runLogRotation } from "./logs/log-rotation.ts";
import { admitResize } from "./node/admit.ts";
import { endPods } from "./node/end-pods.ts";
import { runLease } from "./node/lease.ts";
import { runNode } from "./node/node.ts";
import { runSchedulableEvents } from "./node/schedulable-events.ts";
import { runStorageWatch, withWritableLayers } from "./node/storage-watch.ts";
import { runPlacements } from "./placement/run-placements.ts";
import { NodePods } from "./pod/node-pods.ts";
import type { Eviction } from "./pod/plan/life.ts";
import type { PodDeps } from "./pod/pod-deps.ts";
import { apiPods } from "./pod/pod-objects.ts";
import type { DeviceCount } from "./resources/devices.ts";
import type { StorageEviction } from "./resources/storage-limits.ts";
import type { RuntimeVersion } from "./runtime/runtime.ts";
import type { KubeletHandle, NodeStats } from "./server/handle.ts";
import { defaultSettings, type KubeletSettings } from "./settings.ts";
import { createSimulatedHost } from "./simulated-host.ts";
import { Mirrors } from "./static/mirrors.ts";
import { mirrorOf } from "./static/static-pods.ts";
import { volumeSources } from "./volume-sources.ts";
import { type PodTokens, renewTokens, ServiceAccountTokens } from "./volumes/written/service-account-tokens.ts";

/** Runs the pods that are bound to one node. */
export class Kubelet {
  /** For the kubelet's HTTP server. */
  readonly handle: KubeletHandle;
  readonly #options: KubeletOptions;
  readonly #settings: KubeletSettings;
  readonly #pods: NodePods;
  readonly #tokens: PodTokens;
  readonly #resources = new Nudge();
  readonly #placed = new Nudge();
  readonly #evictions = new Map<string, number>();
  #pressure: readonly Pressure[] = [];
  /** Resolves when the pods of this node are known. */
  readonly #podsKnown = Promise.withResolvers<void>();
  #resyncWanted = Promise.withResolvers<void>();
  #looksAgain = false;
  #isShuttingDown = false;

  constructor(options: KubeletOptions) {
    this.#options = options;
    this.#settings = options.settings ?? defaultSettings;
    const { nodeName, runtime, machine, devices, client, clock, log, staticPods } = options;
    this.#tokens =
      options.tokens ?? new ServiceAccountTokens({ client, clock, random: options.random ?? systemRandom });
    const finished = (uid: string) => {
      this.#tokens.forgetPod(uid);
      staticPods?.finished(uid);
    };
    this.#pods = new NodePods({
      allocatable: machine.allocatable,
      unsafeSysctls: this.#settings.unsafeSysctls,
      fixedBy: fixingPolicy(this.#settings),
      features: options.features,
      node: () => this.#seenNode(),
      newestNode: () => client.get(Node, { name: nodeName }),
      devices,
      placements: options.placements,
      placed: () => this.#placed.give(),
      log,
      pressure: () => this.#pressure,
      isShuttingDown: () => this.#isShuttingDown,
      finished,
    });
    this.handle = createHandle({
      nodeName,
      runtime,
      workers: () => this.#pods.workers,
      stats: options.stats ?? (async () => this.#noStats()),
      evictions: () => this.#evictions,
      checkpointFile: (ref, container) => checkpointFile(options, ref, container),
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

  /** The machine shuts down: no pod starts any more, and those that run end within the configured times. */
  async shutDown(): Promise<void> {
    const { clock } = this.#options;
    const { shutdown: graces } = this.#settings;
    if (graces.length === 0) return;
    this.#isShuttingDown = true;
    this.resourcesChanged();
    const pods = () => this.#pods.workers.map(({ pod }) => pod);
    const evict = (uid: string, why: Eviction) => void this.evictPod(uid, why);
    await endPods({ clock, graces, pods, evict, isCleanedUp: (uid) => this.#pods.isCleanedUp(uid) });
  }

  /** Runs until the signal. The pods continue without it. */
  async run(signal: AbortSignal): Promise<void> {
    const { client, informers, clock, log, nodeName, runtime, staticPods } = this.#options;
    const { runsPods = true, reportsNode = true } = this.#options;
    await using events = createEventRecorder(client, { component: "kubelet", host: nodeName, clock, log });
    using objects = new ReferencedObjects({ client, clock, changed: (uids) => this.#pods.referencesChanged(uids) });
    try {
      const version = await insist({ clock, log, signal }, "runtime does not answer", () => runtime.version(signal));
      const deps = this.#podDeps(version, events, objects);
      let nodeUid: string | undefined;
      const mirrors = this.#createMirrors(() => nodeUid);
      const isReal = !deps.host.isSimulated;
      const { limitsStorage } = this.#settings;
      const registered = ({ metadata }: Node) => {
        nodeUid = metadata.uid;
        mirrors?.wake();
      };
      await runTogether(signal, [
        ...(reportsNode
          ? [(stop: AbortSignal) => runNode({ ...this.#nodeDeps(deps), version, registered }, stop)]
          : []),
        (stop) => runSchedulableEvents({ nodeName, informers, events }, stop),
        (stop) => runLease({ ...this.#leaseDeps(), nodeUid: () => nodeUid ?? this.#seenNode()?.metadata.uid }, stop),
        (stop) => this.#followRuntime(deps, stop),
        (stop) => renewTokens({ clock, tokens: this.#tokens, outdated: (uid) => this.#pods.tokensOutdated(uid) }, stop),
        ...(runsPods ? [(stop: AbortSignal) => this.#runPods(deps, mirrors, stop)] : []),
        ...(mirrors ? [(stop: AbortSignal) => mirrors.run(stop)] : []),
        ...(staticPods ? [(stop: AbortSignal) => staticPods.run(stop)] : []),
        ...(this.#options.placements ? [(stop: AbortSignal) => this.#followPlacements(deps, stop)] : []),
        // Simulated pods write no logs or files.
        ...(isReal ? [(stop: AbortSignal) => this.#rotateLogs(deps, stop)] : []),
        ...(isReal && limitsStorage ? [(stop: AbortSignal) => this.#watchStorage(deps, stop)] : []),
        (stop) => this.#watchOom(deps, stop),
        ...(this.#options.evictionHost ? [(stop: AbortSignal) => this.#watchPressure(deps, stop)] : []),
      ]);
    } catch (error) {
      if (!isAbort(error, signal)) throw error;
    } finally {
      await this.#pods.close();
    }
  }

  async #followPlacements({ clock, log, runtime, placements }: PodDeps, signal: AbortSignal): Promise<void> {
    if (!placements) return;
    await orAborted(this.#podsKnown.promise, signal);
    const times = { everyMs: this.#settings.placement?.reconcileMs ?? 10_000, changed: this.#placed };
    await runPlacements({ clock, log, placements, ...times, pods: this.#pods, runtime }, signal);
  }

  #rotateLogs({ clock, log, runtime }: PodDeps, signal: AbortSignal): Promise<void> {
    const running = () =>
      this.#pods.workers.flatMap(({ state }) =>
        state.containers.filter((record) => record.state === "running" && record.logPath !== ""),
      );
    return runLogRotation({ clock, log, runtime, running, limits: this.#settings.containerLogs }, signal);
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

  async #watchPressure({ clock, log, events, nodeName }: PodDeps, signal: AbortSignal): Promise<void> {
    const { evictionHost: host } = this.#options;
    if (!host) return;
    await orAborted(this.#podsKnown.promise, signal);
    const about = { kind: "Node", name: nodeName, uid: nodeName };
    const deps: EvictionDeps = {
      settings: this.#settings.eviction,
      host,
      clock,
      log,
      pods: () => this.#pods.workers.map(({ pod }) => pod),
      removeDeadContainers: () => this.#pods.removeDeadContainers(),
      evict: (uid, why, cause) => {
        this.#evictions.set(cause, (this.#evictions.get(cause) ?? 0) + 1);
        this.evictPod(uid, why);
      },
      isCleanedUp: (uid) => this.#pods.isCleanedUp(uid),
      conditionsChanged: (conditions) => {
        this.#pressure = conditions;
        this.resourcesChanged();
      },
      reclaims: (resource) =>
        events.event(about, "Warning", "EvictionThresholdMet", `Attempting to reclaim ${resource}`),
    };
    await runEviction(deps, signal);
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
        this.#podsKnown.resolve();
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
      puller: options.puller ?? this.#createPuller(),
      devices: options.devices,
      placements: options.placements,
      claims: options.claims && podClaims(options.claims, client),
      objects,
      clusterDns: options.clusterDns ?? { servers: [], domain: "cluster.local" },
      hostIps: machine.addresses,
      allocatable: machine.allocatable,
      maxRestartMs: this.#settings.maxRestartMs,
      seccompDefault: this.#settings.seccompDefault,
      services: (namespace) => servicesFor(services, namespace),
      admitResize: (pod) => admitResize(pod, this.#pods.roomFor(pod.metadata.uid)),
      runtimeHandler: async (name) => (await options.client.get(RuntimeClass, { name })).handler,
      sourcesFor: (uid) => volumeSources({ ...options, tokens: this.#tokens, objects }, uid),
      claimContainer: (id, uid) => this.#pods.claimContainer(id, uid),
      disclaimContainer: (id) => this.#pods.disclaimContainer(id),
    };
  }

  #createPuller(): ImagePuller {
    const { runtime, clock, log, credentialPlugins = [] } = this.#options;
    const plugins =
      credentialPlugins.length > 0 ? new CredentialPlugins({ plugins: credentialPlugins, clock, log }) : undefined;
    return new ImagePuller({ runtime, clock, limits: this.#settings.pulls, plugins });
  }

  /** When the machine runs out of memory, the kernel may kill any process. An event of the Node says so. */
  async #watchOom({ events, nodeName }: PodDeps, signal: AbortSignal): Promise<void> {
    const about = { kind: "Node", name: nodeName, uid: nodeName };
    await this.#options.watchSystemOom?.((message) => events.event(about, "Warning", "SystemOOM", message), signal);
  }

  #nodeDeps({ nodeName, clock, log, events, runtime }: PodDeps) {
    const {
      client,
      machine,
      labels = {},
      taints = this.#settings.taints,
      podCidrs = [],
      kubeletPort = 0,
      checkMs = this.#settings.checkMs,
    } = this.#options;
    const { devices } = this.#options;
    const pressures = { pressure: () => this.#pressure, isShuttingDown: () => this.#isShuttingDown };
    const seen = () => this.#seenNode();
    const base = { nodeName, client, clock, log, events, runtime, machine, labels, taints, podCidrs, seen };
    const changed = () => this.#resources.taken();
    const { reportMs, maxImages, providerId } = this.#settings;
    const times = { checkMs, reportMs };
    return {
      ...base,
      ...times,
      maxImages,
      providerId,
      kubeletPort,
      ...pressures,
      devices: () => devices?.counts() ?? noDevices,
      changed,
    };
  }

  #seenNode(): Node | undefined {
    const { informers, nodeName: name } = this.#options;
    return informers.of(Node, { fieldSelector: `metadata.name=${name}` }).get({ name });
  }

  #leaseDeps() {
    const { leaseSeconds: durationSeconds } = this.#settings;
    // A quarter of the time that the lease is valid, as upstream has it.
    const { nodeName, client, clock, log, random = systemRandom, leaseMs = durationSeconds * 250 } = this.#options;
    return { nodeName, client, clock, log, random, renewMs: leaseMs, durationSeconds };
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

/** The policy that fixes the resources of Guaranteed pods, with upstream's words. */
function fixingPolicy({ placement }: KubeletSettings): string | undefined {
  if (placement?.cpus) return 'CPU Manager policy "static"';
  return placement?.memory ? 'Memory Manager policy "Static"' : undefined;
}

const resyncMs = 300_000;
const secondLookMs = 2000;
const noDevices: ReadonlyMap<string, DeviceCount> = new Map();
