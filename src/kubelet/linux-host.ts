import { mkdir, open, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import type { Pod } from "#api/core/pod.ts";
import type { AnyContainer } from "#api/core/pod-containers.ts";
import { qosClassOf } from "#api/core/pod-resources.ts";
import type { Volume } from "#api/core/volume.ts";
import type { Clock } from "#lib/clock.ts";
import { propagationOf, subPathOf } from "./container-config.ts";
import type { LastWordsRequest, MountedVolumes, MountsRequest, PodHost, PodName, PodPlaces } from "./host.ts";
import { readLog } from "./logs/read-log.ts";
import { renderHostsFile, renderNodeHostsFile } from "./network/hosts-file.ts";
import { parseResolvConf, podHostname, type ResolverConfig } from "./network/pod-dns.ts";
import { type ProbeNetwork, realNetwork } from "./probes/network.ts";
import { type Cgroups, podCgroup, type QosClass } from "./resources/cgroups.ts";
import { podCgroupLimits } from "./resources/linux-resources.ts";
import type { Image, Mount } from "./runtime/runtime.ts";
import { type ImageMounts, imageVolume, imageVolumePath } from "./volumes/image-volume.ts";
import { ensureMemoryDir } from "./volumes/memory-dir.ts";
import type { MountedVolume, VolumePlugin, VolumeSources } from "./volumes/plugin.ts";
import { bindSubPath } from "./volumes/sub-path.ts";
import {
  createVolumePlugins,
  type FurtherPlugins,
  mountVolume,
  removePodDirs,
  unmountVolumes,
} from "./volumes/volumes.ts";

export interface LinuxHostOptions {
  readonly dataDir: string;
  readonly clock: Clock;
  readonly cgroups: Cgroups;
  /** Above all groups of this node: `/orlop-1a2b3c4d`. */
  readonly cgroupRoot: string;
  readonly clusterDomain: string;
  /** How image volumes come to their files. */
  readonly imageMounts: ImageMounts;
  /** Kinds of volumes beside those that every node has. */
  readonly furtherVolumes?: FurtherPlugins;
  /** Quantities that pods can have; limits of containers without any. */
  readonly allocatable: Readonly<Record<string, string>>;
  /** Where logs of pods are; default `<dataDir>/logs`. */
  readonly logDir?: string;
  readonly resolvConf?: string;
  readonly maxPids?: number;
}

/** This machine, with everything of the node's pods under one directory. */
export async function openLinuxHost(options: LinuxHostOptions): Promise<PodHost> {
  const host = new LinuxHost(options, await readResolver(options.resolvConf ?? "/etc/resolv.conf"));
  await host.open();
  return host;
}

const maxMessageBytes = 4096;
const maxLogBytes = 2048;
const maxLogLines = 80;
const qosClasses: readonly QosClass[] = ["Guaranteed", "Burstable", "BestEffort"];

class LinuxHost implements PodHost {
  readonly network: ProbeNetwork = realNetwork;
  readonly resolver: ResolverConfig;
  readonly memoryCapacity = os.totalmem();
  readonly seccompDir: string;
  readonly #options: LinuxHostOptions;
  readonly #logDir: string;
  readonly #plugins: readonly VolumePlugin[];

  constructor(options: LinuxHostOptions, resolver: ResolverConfig) {
    this.#options = options;
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
    // The classes that may be squeezed get little of the processor while others want it.
    await cgroups.ensure(`${cgroupRoot}/kubepods`, {});
    await cgroups.ensure(`${cgroupRoot}/kubepods/burstable`, { cpuShares: 2 });
    await cgroups.ensure(`${cgroupRoot}/kubepods/besteffort`, { cpuShares: 2 });
  }

  async prepare(pod: Pod): Promise<PodPlaces> {
    const uid = pod.metadata.uid ?? "";
    const { cgroups, cgroupRoot, maxPids } = this.#options;
    const logDirectory = this.#podLogs(nameOf(pod));
    const cgroupParent = podCgroup(cgroupRoot, qosClassOf(pod.spec), uid);
    await Promise.all([
      mkdir(this.#podDir(uid), { recursive: true, mode: 0o750 }),
      mkdir(logDirectory, { recursive: true, mode: 0o755 }),
      cgroups.ensure(cgroupParent, podCgroupLimits(pod, maxPids)),
    ]);
    return { logDirectory, cgroupParent };
  }

  async setLimits(pod: Pod, how: "own" | "none"): Promise<void> {
    const { cgroups, cgroupRoot, maxPids } = this.#options;
    const { cpuQuotaUs: _cpu, memoryBytes: _memory, ...rest } = podCgroupLimits(pod, maxPids);
    const limits = how === "own" ? podCgroupLimits(pod, maxPids) : rest;
    await cgroups.ensure(podCgroup(cgroupRoot, qosClassOf(pod.spec), pod.metadata.uid ?? ""), limits);
  }

  async mountVolumes(pod: Pod, sources: VolumeSources): Promise<MountedVolumes> {
    const uid = pod.metadata.uid ?? "";
    const { allocatable, clock } = this.#options;
    const context = {
      pod,
      podDir: this.#podDir(uid),
      podMemoryDir: this.#memoryDir(uid),
      sources,
      node: { allocatable },
      clock,
    };
    const mount = async (volume: Volume) => [volume.name, await mountVolume(this.#plugins, context, volume)] as const;
    return new Map(await Promise.all((pod.spec.volumes ?? []).map(mount)));
  }

  async mountImage({ metadata }: Pod, volume: string, image: Image): Promise<void> {
    await this.#options.imageMounts.mount(image, imageVolumePath(this.#podDir(metadata.uid ?? ""), volume));
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
    const dir = `${this.#podDir(pod.metadata.uid ?? "")}/volume-subpaths`;
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
    const file = `${this.#podDir(pod.metadata.uid ?? "")}/etc-hosts`;
    const text = hostNetwork
      ? renderNodeHostsFile(await readFile(hostsPath, "utf8"), aliases)
      : renderHostsFile({ ips, ...podHostname(pod, this.#options.clusterDomain), aliases });
    await writeFile(file, text, { mode: 0o644 });
    return { containerPath: hostsPath, hostPath: file, readOnly: false, propagation: "None" };
  }

  async readVolumeFile({ path }: MountedVolume, file: string): Promise<string | undefined> {
    const root = await realpath(path);
    const real = await realpath(`${root}/${file}`).catch(() => undefined);
    if (real === undefined || !real.startsWith(`${root}/`)) return undefined;
    return await readFile(real, "utf8");
  }

  async prepareContainer(pod: Pod, container: AnyContainer, restartCount: number): Promise<string | undefined> {
    await mkdir(`${this.#podLogs(nameOf(pod))}/${container.name}`, { recursive: true, mode: 0o755 });
    if (container.terminationMessagePath === "") return undefined;
    const dir = `${this.#podDir(pod.metadata.uid ?? "")}/containers/${container.name}`;
    await mkdir(dir, { recursive: true, mode: 0o750 });
    const path = `${dir}/${restartCount}`;
    // Whoever the container runs as may write; nobody else gets here.
    const file = await open(path, "w", 0o666);
    await file.chmod(0o666);
    await file.close();
    return path;
  }

  async readLastWords({ file, logPath }: LastWordsRequest): Promise<string> {
    const said = file === undefined ? "" : await readEnd(file);
    if (said !== "" || logPath === undefined) return said;
    const chunks = await Array.fromAsync(readLog(logPath, { tailLines: maxLogLines })).catch(() => []);
    return Buffer.concat(chunks).subarray(-maxLogBytes).toString();
  }

  async release(uid: string): Promise<void> {
    const { cgroups, cgroupRoot } = this.#options;
    await unmountVolumes(this.#plugins, this.#podDir(uid));
    await Promise.all([
      removePodDirs([this.#podDir(uid), this.#memoryDir(uid)]),
      ...qosClasses.map((qos) => cgroups.remove(podCgroup(cgroupRoot, qos, uid))),
    ]);
  }

  async removeLogs(pod: PodName): Promise<void> {
    await rm(this.#podLogs(pod), { recursive: true, force: true });
  }

  async removeLog(path: string): Promise<void> {
    await rm(path, { force: true });
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
  #memoryDir = (uid: string): string => `${this.#options.dataDir}/memory/${uid}`;
  #podLogs = ({ namespace, name, uid }: PodName): string => `${this.#logDir}/${namespace}_${name}_${uid}`;
}

const hostsPath = "/etc/hosts";
const nameOf = ({ metadata }: Pod): PodName => ({
  namespace: metadata.namespace ?? "",
  name: metadata.name ?? "",
  uid: metadata.uid ?? "",
});

async function readResolver(path: string): Promise<ResolverConfig> {
  return parseResolvConf(await readFile(path, "utf8").catch(() => ""));
}

/** The last bytes of a file; nothing if it is gone. */
async function readEnd(path: string): Promise<string> {
  const file = await open(path, "r").catch(() => undefined);
  if (!file) return "";
  try {
    const { size } = await file.stat();
    const length = Math.min(size, maxMessageBytes);
    const { buffer } = await file.read(Buffer.alloc(length), 0, length, size - length);
    return buffer.toString();
  } finally {
    await file.close();
  }
}
