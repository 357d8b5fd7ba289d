import { mkdir, open, readdir, readFile, writeFile } from "node:fs/promises";
import os from "node:os";
import { type AnyContainer, allContainers } from "#api/core/pod/pod-containers.ts";
import { qosClassOf } from "#api/core/pod/pod-resources.ts";
import type { Pod } from "#api/core/pod.ts";
import type { Volume } from "#api/core/volume/volume.ts";
import { quantityValue } from "#api/meta/quantity.ts";
import type { Clock } from "#lib/async/clock.ts";
import { Semaphore } from "#lib/async/semaphore.ts";
import { fewAtATime } from "#lib/async/tasks.ts";
import { openBelow, readOwnFile, readRegularFile } from "#lib/fs/open-below.ts";
import { removeTree } from "#lib/fs/remove-tree.ts";
import type { Log } from "#lib/process/log.ts";
import { isGone } from "#lib/text/error-code.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { propagationOf, subPathOf } from "./config/container-config.ts";
import type {
  MountedVolumes,
  MountsRequest,
  PodHost,
  PodName,
  PodPlaces,
  TerminationMessageRequest,
} from "./host/host.ts";
import { podLogFolder } from "./logs/pod-log-folder.ts";
import { readLog } from "./logs/read-log.ts";
import { removeLogFiles } from "./logs/rotate-log.ts";
import { renderHostsFile, renderNodeHostsFile } from "./network/hosts-file.ts";
import { parseResolvConf, podHostname, type ResolverConfig } from "./network/pod-dns.ts";
import type { Placements } from "./placement/placements.ts";
import { type ProbeNetwork, realNetwork } from "./probes/network.ts";
import { BurstableShares } from "./resources/burstable-shares.ts";
import { type CgroupLimits, type Cgroups, podCgroup, qosClasses } from "./resources/cgroups.ts";
import { podCgroupLimits, type ResourceRules } from "./resources/linux-resources.ts";
import type { PodStorage } from "./resources/storage-limits.ts";
import type { SwapRules } from "./resources/swap.ts";
import type { Image, Mount } from "./runtime/runtime.ts";
import { diskUsage } from "./volumes/disk-usage.ts";
import { emptyDirVolume } from "./volumes/empty-dir.ts";
import { type ImageMounts, imageVolume, imageVolumePath } from "./volumes/image-volume.ts";
import { ensureMemoryDir } from "./volumes/memory-dir.ts";
import { volumeExcess } from "./volumes/mount-count.ts";
import { type MountedVolume, type VolumePlugin, type VolumeSources, volumePath } from "./volumes/plugin.ts";
import { bindSubPath } from "./volumes/sub-path.ts";
import {
  createVolumePlugins,
  type FurtherPlugins,
  type PodContext,
  refreshVolume,
  removePodDirs,
  setUpVolume,
  unmountVolumes,
  VolumeError,
} from "./volumes/volumes.ts";
import { type WriteBudgets, writeBudgets } from "./volumes/written/write-budget.ts";
import { configMapVolume, downwardApiVolume } from "./volumes/written/written-volumes.ts";

export interface LinuxHostOptions {
  readonly dataDir: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly cgroups: Cgroups;
  /** The cgroup above all others of this node: `/orlop-1a2b3c4d`. */
  readonly cgroupRoot: string;
  readonly clusterDomain: string;
  /** Mounts the files of image volumes. */
  readonly imageMounts: ImageMounts;
  /** Restricts the traffic of a new pod; by default nothing does. */
  restrictTraffic?(pod: Pod, addresses: readonly string[]): Promise<void>;
  /** Kinds of volumes besides those that every node has. */
  readonly furtherVolumes?: FurtherPlugins;
  /** What pods can use; also the limits of containers without any. */
  readonly allocatable: Readonly<Record<string, string>>;
  /** How much memory all pods together may use; as much as is allocatable by default, 0 for no limit. */
  readonly podsMemoryBytes?: number;
  /** Whether limits of CPU are enforced; true by default. */
  readonly limitsCpu?: boolean;
  /** How containers may use swap; by default not at all. */
  readonly swap?: SwapRules;
  /** Processors and memory that containers have for themselves. */
  readonly placements?: Placements | undefined;
  /** Where the logs of pods are; `<dataDir>/logs` by default. */
  readonly logDir?: string;
  readonly resolvConf?: string;
  readonly maxPids?: number;
}

/** This machine, with all files of the node's pods under one directory. */
export async function openLinuxHost(options: LinuxHostOptions): Promise<PodHost> {
  const host = new LinuxHost(options, await readResolver(options.resolvConf ?? "/etc/resolv.conf"));
  await host.open();
  return host;
}

const maxMessageBytes = 4096;
const maxVolumeFileBytes = 64 << 10;
const maxLogBytes = 2048;
const maxLogLines = 80;

class LinuxHost implements PodHost {
  readonly network: ProbeNetwork = realNetwork;
  readonly resolver: ResolverConfig;
  readonly seccompDir: string;
  readonly #options: LinuxHostOptions;
  readonly #logDir: string;
  readonly #plugins: readonly VolumePlugin[];
  readonly #burstable: BurstableShares;
  readonly #budgets = new Map<string, WriteBudgets>();
  readonly #refreshes = new Semaphore(2);

  constructor(options: LinuxHostOptions, resolver: ResolverConfig) {
    this.#options = options;
    this.#burstable = new BurstableShares(options.cgroups, options.cgroupRoot);
    this.resolver = resolver;
    const { imageMounts, furtherVolumes: { volumes = [], persistent = [] } = {} } = options;
    this.#plugins = createVolumePlugins({ volumes: [imageVolume(imageMounts), ...volumes], persistent });
    this.seccompDir = `${options.dataDir}/seccomp`;
    this.#logDir = options.logDir ?? `${options.dataDir}/logs`;
  }

  async open(): Promise<void> {
    const { dataDir, cgroups, cgroupRoot } = this.#options;
    await Promise.all([
      mkdir(`${dataDir}/pods`, { recursive: true, mode: 0o750 }),
      mkdir(this.#logDir, { recursive: true }),
      ensureMemoryDir(`${dataDir}/memory`),
    ]);
    await this.#limitPods();
    await this.#burstable.open();
    // Pods that request nothing get little of the processor while others want it.
    await cgroups.ensure(`${cgroupRoot}/kubepods/besteffort`, { cpuShares: 2 });
  }

  /** Pods together cannot use the memory that is reserved for the system and for Orlop. */
  async #limitPods(): Promise<void> {
    const { cgroups, cgroupRoot, allocatable, log } = this.#options;
    const group = `${cgroupRoot}/kubepods`;
    const memoryBytes = this.#options.podsMemoryBytes ?? quantityValue(allocatable.memory ?? "0");
    try {
      await cgroups.ensure(group, memoryBytes > 0 ? { memoryBytes } : {});
    } catch (error) {
      // Running pods may already use more, and the kernel does not reclaim it.
      log.warn("could not limit the memory of all pods", { memoryBytes, error });
      await cgroups.ensure(group, {});
    }
  }

  async restrictTraffic(pod: Pod, addresses: readonly string[]): Promise<void> {
    await this.#options.restrictTraffic?.(pod, addresses);
  }

  async prepare(pod: Pod): Promise<PodPlaces> {
    const uid = pod.metadata.uid;
    const { cgroupRoot } = this.#options;
    const logDirectory = this.#podLogs(nameOf(pod));
    const cgroupParent = podCgroup(cgroupRoot, qosClassOf(pod.spec), uid);
    await Promise.all([
      mkdir(this.#podDir(uid), { recursive: true, mode: 0o750 }),
      mkdir(logDirectory, { recursive: true, mode: 0o755 }),
      this.#ensureGroup(pod, this.#limitsOf(pod)),
    ]);
    return { logDirectory, cgroupParent };
  }

  async setLimits(pod: Pod, how: "own" | "none"): Promise<void> {
    const limits = this.#limitsOf(pod);
    const { cpuQuotaUs: _cpu, memoryBytes: _memory, ...rest } = limits;
    await this.#ensureGroup(pod, how === "own" ? limits : rest);
  }

  #limitsOf(pod: Pod): CgroupLimits {
    const { maxPids, limitsCpu = true, placements } = this.#options;
    return podCgroupLimits(pod, { maxPids, limitsCpu: limitsCpu && !placements?.hasOwnCpus(pod.metadata.uid) });
  }

  resourceRules({ metadata }: Pod, { name }: AnyContainer): ResourceRules {
    const { limitsCpu = true, swap, placements } = this.#options;
    return {
      memoryCapacity: os.totalmem(),
      limitsCpu,
      ...(swap ? { swap } : {}),
      ...(placements ? { place: placements.placeOf(metadata.uid, name) } : {}),
    };
  }

  async #ensureGroup({ spec, metadata }: Pod, limits: CgroupLimits): Promise<void> {
    const { cgroups, cgroupRoot } = this.#options;
    const qos = qosClassOf(spec);
    await Promise.all([
      cgroups.ensure(podCgroup(cgroupRoot, qos, metadata.uid), limits),
      ...(qos === "Burstable" ? [this.#burstable.set(metadata.uid, limits.cpuShares ?? 0)] : []),
    ]);
  }

  async mountVolumes(pod: Pod, sources: VolumeSources): Promise<MountedVolumes> {
    const excess = volumeExcess(pod);
    if (excess !== undefined) throw new VolumeError(pod.spec.volumes?.[0]?.name ?? "", new Error(excess));
    const context = this.#volumeContext(pod, sources);
    const setUp = async (volume: Volume) => [volume.name, await setUpVolume(this.#plugins, context, volume)] as const;
    return new Map(await fewAtATime(pod.spec.volumes ?? [], setUp));
  }

  async refreshVolumes(pod: Pod, sources: VolumeSources): Promise<void> {
    const context = this.#volumeContext(pod, sources);
    // Limited, because one object may be shown by every pod of the node and may change all the time.
    await this.#refreshes.take(() =>
      fewAtATime(pod.spec.volumes ?? [], (volume) => refreshVolume(this.#plugins, context, volume)),
    );
  }

  #volumeContext(pod: Pod, sources: VolumeSources): PodContext {
    const uid = pod.metadata.uid;
    const { allocatable, clock } = this.#options;
    let budgets = this.#budgets.get(uid);
    if (!budgets) {
      const { memory = "0", pods = "1" } = allocatable;
      budgets = writeBudgets({ memoryBytes: quantityValue(memory), pods: quantityValue(pods) });
      this.#budgets.set(uid, budgets);
    }
    const [podDir, podMemoryDir] = [this.#podDir(uid), this.#memoryDir(uid)];
    return { pod, podDir, podMemoryDir, sources, node: { allocatable }, clock, budgets };
  }

  async mountImage({ metadata }: Pod, volume: string, image: Image): Promise<void> {
    await this.#options.imageMounts.mount(image, imageVolumePath(this.#podDir(metadata.uid), volume));
  }

  async containerMounts(request: MountsRequest): Promise<Mount[]> {
    const { pod, container } = request;
    const mounts = await Promise.all(
      (container.volumeMounts ?? []).map((_, index) => this.#volumeMount(request, index)),
    );
    const hasHosts = mounts.some(({ containerPath }) => containerPath === hostsPath);
    if (hasHosts || (request.ips.length === 0 && !pod.spec.hostNetwork)) return mounts;
    return [...mounts, await this.#hostsMount(pod, request.ips)];
  }

  async #volumeMount({ pod, container, volumes, environment }: MountsRequest, index: number): Promise<Mount> {
    const mount = container.volumeMounts?.[index];
    const volume = mount && volumes.get(mount.name);
    if (!mount || !volume) {
      throw new Error(`cannot find volume "${mount?.name ?? ""}" to mount into container "${container.name}"`);
    }
    if (mount.recursiveReadOnly === "Enabled") {
      const fault = `volume "${mount.name}" requested recursive read-only mode, but it is not supported by the runtime`;
      throw new Error(`failed to resolve recursive read-only mode: ${fault}`);
    }
    const subPath = subPathOf(mount, environment);
    const dir = `${this.#podDir(pod.metadata.uid)}/volume-subpaths`;
    const target = `${dir}/${mount.name}/${container.name}/${index}`;
    return {
      containerPath: mount.mountPath.startsWith("/") ? mount.mountPath : `/${mount.mountPath}`,
      hostPath: subPath === "" ? volume.path : await bindSubPath({ volumePath: volume.path, subPath, target }),
      readOnly: mount.readOnly === true || volume.readOnly,
      propagation: propagationOf(mount),
    };
  }

  async #hostsMount(pod: Pod, ips: readonly string[]): Promise<Mount> {
    const { hostAliases: aliases = [], hostNetwork } = pod.spec;
    const file = this.#hostsFile(pod.metadata.uid);
    const text = hostNetwork
      ? renderNodeHostsFile(await readFile(hostsPath, "utf8"), aliases)
      : renderHostsFile({ ips, ...podHostname(pod, this.#options.clusterDomain), aliases });
    await writeFile(file, text, { mode: 0o644 });
    return { containerPath: hostsPath, hostPath: file, readOnly: false, propagation: "None" };
  }

  async readVolumeFile({ path }: MountedVolume, file: string): Promise<string | undefined> {
    try {
      await using place = await openBelow(path, file);
      return (await readRegularFile(place, { maxBytes: maxVolumeFileBytes })).toString();
    } catch (error) {
      if (isGone(error)) return undefined;
      throw new Error(`cannot read file ${JSON.stringify(file)} of a volume: ${messageOf(error)}`, { cause: error });
    }
  }

  async prepareContainer(pod: Pod, container: AnyContainer, restartCount: number): Promise<string | undefined> {
    await mkdir(`${this.#podLogs(nameOf(pod))}/${container.name}`, { recursive: true, mode: 0o755 });
    if (container.terminationMessagePath === "") return undefined;
    const dir = `${this.#messageDir(pod.metadata.uid)}/${container.name}`;
    await mkdir(dir, { recursive: true, mode: 0o750 });
    const path = `${dir}/${restartCount}`;
    // The container may run as any user, and nobody else can reach this directory.
    const file = await open(path, "w", 0o666);
    await file.chmod(0o666);
    await file.close();
    return path;
  }

  async readTerminationMessage({ file, logPath }: TerminationMessageRequest): Promise<string> {
    const words = file === undefined ? undefined : await readOwnFile(file, { maxBytes: maxMessageBytes, from: "end" });
    const said = words?.toString() ?? "";
    if (said !== "" || logPath === undefined) return said;
    const chunks = await Array.fromAsync(readLog(logPath, { tailLines: maxLogLines })).catch(() => []);
    return Buffer.concat(chunks).subarray(-maxLogBytes).toString();
  }

  async storageOf(
    pods: readonly Pod[],
    signal: AbortSignal,
    unit: "bytes" | "inodes" = "bytes",
  ): Promise<ReadonlyMap<string, PodStorage>> {
    const places = pods.map((pod) => this.#storagePlaces(pod));
    const paths = places.flatMap(({ volumes, logs, files }) => [...volumes.values(), ...logs.values(), ...files]);
    const used = await diskUsage(paths, signal, unit);
    const total = (of: readonly string[]) => of.reduce((sum, path) => sum + (used.get(path) ?? 0), 0);
    const sizes = (of: ReadonlyMap<string, string>) =>
      new Map(Array.from(of, ([name, path]) => [name, used.get(path) ?? 0] as const));
    return new Map(
      places.map(({ uid, volumes, logs, files }) => {
        return [uid, { volumes: sizes(volumes), containers: sizes(logs), fileBytes: total(files) }];
      }),
    );
  }

  /** Where a pod's files are on the disk, by the names of volumes and containers. */
  #storagePlaces(pod: Pod) {
    const uid = pod.metadata.uid;
    const logs = this.#podLogs(nameOf(pod));
    const kinds = [emptyDirVolume, configMapVolume, downwardApiVolume];
    const volumes = (pod.spec.volumes ?? []).flatMap((volume) => {
      const kind = kinds.find((one) => one.handles(volume));
      const isOnDisk = kind !== undefined && (volume.emptyDir?.medium ?? "") === "";
      return isOnDisk ? [[volume.name, volumePath(this.#podDir(uid), kind.name, volume.name)] as const] : [];
    });
    const byContainer = allContainers(pod.spec).map(({ name }) => [name, `${logs}/${name}`] as const);
    const files = [this.#hostsFile(uid), this.#messageDir(uid)];
    return { uid, volumes: new Map(volumes), logs: new Map(byContainer), files };
  }

  async release(uid: string): Promise<void> {
    const { cgroups, cgroupRoot } = this.#options;
    this.#budgets.delete(uid);
    await unmountVolumes(this.#plugins, this.#podDir(uid));
    await Promise.all([
      removePodDirs([this.#podDir(uid), this.#memoryDir(uid)]),
      ...qosClasses.map((qos) => cgroups.remove(podCgroup(cgroupRoot, qos, uid))),
    ]);
    await this.#burstable.delete(uid);
  }

  async removeLogs(pod: PodName): Promise<void> {
    await removeTree(this.#podLogs(pod));
  }

  async removeLog(path: string): Promise<void> {
    await removeLogFiles(path);
  }

  async leftovers(): Promise<PodName[]> {
    const [dirs, logs] = await Promise.all([readdir(`${this.#options.dataDir}/pods`), readdir(this.#logDir)]);
    const byDir = dirs.map((uid) => ({ namespace: "", name: "", uid }));
    const byLog = logs.flatMap((entry) => {
      const [, namespace = "", name = "", uid = ""] = /^([^_]+)_([^_]+)_(.+)$/.exec(entry) ?? [];
      return uid === "" ? [] : [{ namespace, name, uid }];
    });
    return [...byDir.filter(({ uid }) => !byLog.some((pod) => pod.uid === uid)), ...byLog];
  }

  #podDir = (uid: string): string => `${this.#options.dataDir}/pods/${uid}`;
  #hostsFile = (uid: string): string => `${this.#podDir(uid)}/etc-hosts`;
  #messageDir = (uid: string): string => `${this.#podDir(uid)}/containers`;
  #memoryDir = (uid: string): string => `${this.#options.dataDir}/memory/${uid}`;
  #podLogs = (pod: PodName): string => `${this.#logDir}/${podLogFolder(pod)}`;
}

const hostsPath = "/etc/hosts";
const nameOf = ({ metadata }: Pod): PodName => ({
  namespace: metadata.namespace,
  name: metadata.name,
  uid: metadata.uid,
});

async function readResolver(path: string): Promise<ResolverConfig> {
  return parseResolvConf(await readFile(path, "utf8").catch(() => ""));
}
