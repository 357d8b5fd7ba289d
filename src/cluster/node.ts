import { readFile } from "node:fs/promises";
import { Node } from "#api/core/node.ts";
import type { Pod } from "#api/core/pod.ts";
import { quantityValue } from "#api/meta/quantity.ts";
import { type Client } from "#client/client.ts";
import { createEventRecorder } from "#client/events.ts";
import { type Containerd, startContainerd } from "#kubelet/containerd/containerd.ts";
import { containerdPaths } from "#kubelet/containerd/paths.ts";
import { linuxEvictionHost } from "#kubelet/eviction/linux-eviction-host.ts";
import { buildBusyboxImage } from "#kubelet/images/busybox-image.ts";
import { busyboxImageName, collectImages, createImageGc } from "#kubelet/images/collect-images.ts";
import type { ImageGc } from "#kubelet/images/image-gc.ts";
import { ensurePauseImage, type ImportDeps, importImage, pauseImageName } from "#kubelet/images/import.ts";
import { Kubelet } from "#kubelet/kubelet.ts";
import { openLinuxHost } from "#kubelet/linux-host.ts";
import { arePodsRouted, connectBridgedPods, podLinkPrefix, writeCniConfig } from "#kubelet/network/cni.ts";
import { keptFree, type Machine, podsMemoryBytes, readMachine } from "#kubelet/node/machine.ts";
import { type NodePlugins, openNodePlugins } from "#kubelet/plugins/node-plugins.ts";
import { type CgroupMode, openCgroups } from "#kubelet/resources/cgroups.ts";
import { protectFromOom } from "#kubelet/resources/oom.ts";
import { canLimitSwap, hasSwap } from "#kubelet/resources/swap.ts";
import { watchSystemOom } from "#kubelet/resources/system-oom.ts";
import { ContainerdRuntime } from "#kubelet/runtime/containerd.ts";
import { collectStats } from "#kubelet/server/stats.ts";
import type { KubeletSettings } from "#kubelet/settings.ts";
import { StaticPods } from "#kubelet/static/static-pods.ts";
import { ctrImageMounts } from "#kubelet/volumes/image-volume.ts";
import { type Clock } from "#lib/async/clock.ts";
import { aborted, orAborted, runTogether } from "#lib/async/tasks.ts";
import { type Random } from "#lib/data/random.ts";
import { type DualRange, parseDualRange } from "#lib/net/dual-range.ts";
import { type Log, silentLog } from "#lib/process/log.ts";
import { rotateLogFile } from "#lib/process/log-file.ts";
import { isMachineStopping } from "#lib/process/machine-stopping.ts";
import { ownPid } from "#lib/process/processes.ts";
import { volumeDirectories } from "#provisioner/directories.ts";
import { runProvisioner } from "#provisioner/provisioner.ts";
import { OwnEndpoint } from "#proxy/own-endpoint.ts";
import { TrafficGuard } from "#proxy/policy/traffic-guard.ts";
import { runProxy } from "#proxy/proxy.ts";
import { runRoutes } from "#routes/routes.ts";
import { type Informer, type Informers } from "#runtime/informer.ts";
import { type TraceRecorder } from "#trace/recorder.ts";
import type { KubeletConfig } from "./kubelet-config/load.ts";
import { nodeNames, noteRange } from "./node-names.ts";
import { clusterDomain, runNames } from "./run-names.ts";
import { type NodeIdentity, serveKubelet } from "./serve-kubelet.ts";

export interface NodeOptions {
  readonly nodeName: string;
  readonly dataDir: string;
  readonly clusterCidr: string;
  readonly serviceCidr: string;
  readonly dnsAddress: string;
  readonly kubeletPort: number;
  /** The port of the API server, if it is on this machine. */
  readonly apiPort?: number | undefined;
  /** The address of the node; by default the machine's first one. */
  readonly address?: string | undefined;
  /** Acts as this node, with a node's rights and no more. */
  readonly client: Client;
  /** Acts as cluster DNS, for the service that leads to this node's DNS server. A node that joined has none. */
  readonly dnsClient?: Client | undefined;
  /** Acts as the provisioner of this node's volumes. Without it there is none. */
  readonly provisionerClient?: Client | undefined;
  /** Whether the node joined a cluster that has others, which look after what all share. */
  readonly isFurther?: boolean;
  /** Serves Ingresses and Gateways on this machine; undefined if nobody asked for it. */
  readonly ingress?: IngressPlace | undefined;
  /** What the kubelet may see. */
  readonly informers: Informers;
  /** What the network of the node may see: addresses of all pods, nodes and services. */
  readonly networkInformers: Informers;
  readonly recorder: TraceRecorder;
  readonly identity: NodeIdentity;
  readonly kubelet: KubeletConfig;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Called once, with what ends the pods before the machine shuts down. */
  beforeEnd?(endPods: () => Promise<void>): void;
  /** Reports a completed step to the command that waits. */
  progress(step: string): void;
}

export interface IngressPlace {
  readonly httpPort: number;
  readonly httpsPort: number;
  /** Acts as the ingress. */
  readonly client: Client;
  /** Called when users can create what it serves. */
  onUsable?(): void;
}

const dnsPort = 53;

/** Runs containerd, the kubelet and the proxy of this machine until the signal. Containers keep running after it. */
export async function runNode(options: NodeOptions, signal: AbortSignal): Promise<void> {
  const { clock, log } = options;
  const { withoutEffect } = options.kubelet;
  if (withoutEffect.length > 0)
    log.warn("fields of the kubelet's configuration have no effect", { fields: withoutEffect });
  // The supervision of containerd ends with the other tasks also when one of them fails.
  const supervision = new AbortController();
  const supervised = AbortSignal.any([signal, supervision.signal]);
  const { containerd, machine, runtime } = await startRuntime(options, supervised);
  const images = imageDeps(options, { containerd, runtime });
  await ensureImages(images, signal);
  const guard = new TrafficGuard(clock, options.clusterCidr.includes(",") ? ["ip", "ip6"] : ["ip"]);
  const ownEndpoint = new OwnEndpoint(options.dnsAddress, dnsPort);
  const plugins = await openNodePlugins({ ...options, devicesChanged: () => kubelet.resourcesChanged() });
  const pods = () => kubelet.handle.pods();
  const unused = createImageGc({ ...options, runtime, policy: options.kubelet.settings.imageGc, pods });
  const kubelet: Kubelet = await openKubelet(options, { containerd, machine, runtime, images, unused, plugins, guard });
  options.beforeEnd?.(async () => {
    if (await isMachineStopping()) await kubelet.shutDown();
  });
  await runTogether(signal, [
    (ended) => {
      ended.addEventListener("abort", () => supervision.abort(ended.reason), { once: true });
      return containerd.supervised;
    },
    (ended) => runServer(options, { machine, handle: kubelet.handle }, ended),
    (ended) => kubelet.run(ended),
    (ended) => plugins.run(ended),
    (ended) => runNetwork(options, { guard, machine, ownEndpoint }, ended),
    (ended) => runNames(options, { address: machine.addresses[0] ?? "127.0.0.1", ownEndpoint }, ended),
    (ended) => runVolumes(options, ended),
    (ended) => runOutside(options, machine, ended),
    (ended) => boundLog(containerd.paths.log, { clock, log }, ended),
    (ended) => collectImages(unused, { clock, log }, ended),
  ]);
}

/** A node that has just joined gets the certificate of its server after it has registered. */
async function runServer(
  options: NodeOptions,
  parts: Parameters<typeof serveKubelet>[1],
  signal: AbortSignal,
): Promise<void> {
  await using _server = await serveKubelet(options, parts, signal);
  await aborted(signal);
}

interface Runtime {
  readonly containerd: Containerd;
  readonly runtime: ContainerdRuntime;
}

/** Adopts or starts containerd, and protects it from the out-of-memory killer, as Orlop itself is. */
async function startRuntime(options: NodeOptions, signal: AbortSignal): Promise<Runtime & { machine: Machine }> {
  const { dataDir, clock, log } = options;
  const { settings } = options.kubelet;
  const { oomScore: score } = settings;
  await protectFromOom([ownPid()], { log, score });
  if (settings.refusesSwap && (await hasSwap())) {
    throw new Error("the machine has swap: turn it off, or set failSwapOn to false in the kubelet's configuration");
  }
  const [containerd, machine] = await Promise.all([
    startContainerd({ dataDir, sandboxImage: pauseImageName, clock, log, signal }),
    readMachine({
      ...settings,
      ...settings.eviction,
      dataDir,
      hostname: options.nodeName,
      ...(options.address ? { addresses: [options.address] } : {}),
    }),
  ]);
  // An adopted containerd may have been started by a process without that protection.
  await protectFromOom([containerd.pid()], { log: silentLog, score });
  options.progress("containerd runs");
  const { oomNotes } = containerd.paths;
  const runtime = new ContainerdRuntime({ address: containerd.address, oomNotes, clock, log });
  return { containerd, machine, runtime };
}

const imageDeps = ({ clock }: NodeOptions, { containerd, runtime }: Runtime): ImportDeps => ({
  socket: containerd.paths.socket,
  snapshotter: containerd.host.snapshotter,
  runtime,
  clock,
});

interface KubeletParts extends Runtime {
  readonly machine: Machine;
  readonly images: ImportDeps;
  readonly unused: ImageGc;
  readonly plugins: NodePlugins;
  readonly guard: TrafficGuard;
}

async function openKubelet(options: NodeOptions, parts: KubeletParts): Promise<Kubelet> {
  const { dataDir, clock, log, nodeName } = options;
  const { settings } = options.kubelet;
  const { containerd, machine, runtime, images, unused, plugins, guard } = parts;
  const { allocatable } = machine;
  const mode = containerd.host.cgroups;
  const allowsSwap = settings.swap === "LimitedSwap";
  const groups = { cgroups: openCgroups(mode, clock, { allowsSwap }), cgroupRoot: containerd.paths.cgroupRoot };
  const placements = await openPlacements(dataDir, settings);
  const volumes = { imageMounts: ctrImageMounts(images), furtherVolumes: plugins.volumes };
  const restrictTraffic = (pod: Pod, addresses: readonly string[]) => guard.restrict(pod, addresses);
  const podsMemory = podsMemoryBytes(machine, settings.reserved);
  const { dnsServers, staticPodDir } = settings;
  const rules = { swap: await swapRules(machine, settings, mode), placements };
  const needs = { ...groups, ...volumes, ...limitsOf(settings, podsMemory), ...rules, restrictTraffic };
  const host = await openLinuxHost({ dataDir, clock, log, clusterDomain, allocatable, ...needs });
  const startedMs = clock.now();
  const stats = (ended?: AbortSignal) =>
    collectStats({ ...options, startedMs, runtime, ...groups, pods: () => kubelet.handle.pods() }, ended);
  const removeUnusedImages = async (ended: AbortSignal) => void (await unused.collect(ended, { all: true }));
  const measured = { dataDir, clock, runtime, host, stats, removeUnusedImages, podsMemoryBytes: podsMemory };
  const podsGroup = `${groups.cgroupRoot}/kubepods`;
  const kubelet: Kubelet = new Kubelet({
    ...options,
    settings,
    runtime,
    machine,
    host,
    devices: plugins.devices,
    placements,
    features: { supplementalGroupsPolicy: false, appArmor: await hasAppArmor() },
    claims: plugins.claims,
    staticPods: new StaticPods({ dir: staticPodDir ?? `${dataDir}/manifests`, nodeName, clock, log }),
    stats,
    checkpointDir: `${dataDir}/checkpoints`,
    credentialPlugins: options.kubelet.credentialPlugins,
    watchSystemOom: (happened, ended) => watchSystemOom({ clock, log, happened }, ended),
    evictionHost: linuxEvictionHost({ ...measured, ...groups, podsGroup }),
    clusterDns: { servers: dnsServers.length > 0 ? dnsServers : [options.dnsAddress], domain: clusterDomain },
  });
  return kubelet;
}

/** What an administrator has chosen for all pods of the node. */
function limitsOf(settings: KubeletSettings, podsMemory: number) {
  const { limitsPods, limitsCpu, maxPids, resolvConf, podLogsDir } = settings;
  return {
    podsMemoryBytes: limitsPods ? podsMemory : 0,
    limitsCpu,
    resolvConf,
    ...(maxPids ? { maxPids } : {}),
    ...(podLogsDir ? { logDir: podLogsDir } : {}),
  };
}

/** Whether the kernel enforces AppArmor profiles. */
async function hasAppArmor(): Promise<boolean> {
  const enabled = await readFile("/sys/module/apparmor/parameters/enabled", "utf8").catch(() => "");
  return enabled.trim() === "Y";
}

async function swapRules({ swapBytes, capacity }: Machine, { swap: behavior }: KubeletSettings, mode: CgroupMode) {
  const memoryBytes = quantityValue(capacity.memory ?? "0");
  return { behavior, mode, canLimit: await canLimitSwap(mode), swapBytes, memoryBytes };
}

/** Which pods have processors and memory for themselves. Most nodes do not need this. */
async function openPlacements(dataDir: string, settings: KubeletSettings) {
  const { placement, reserved, eviction } = settings;
  if (!placement) return undefined;
  const [{ readTopology }, { createRules }, { Placements }] = await Promise.all([
    import("#kubelet/placement/machine-topology.ts"),
    import("#kubelet/placement/create-rules.ts"),
    import("#kubelet/placement/placements.ts"),
  ]);
  const rules = createRules(placement, await readTopology(), {
    reserved,
    keptFree: (bytes: number) => keptFree(eviction.thresholds, "memory.available", bytes),
  });
  return await Placements.open(`${dataDir}/placements.json`, rules);
}

/** Leads requests from outside to services, if asked for. Most nodes do not need its code. */
async function runOutside(options: NodeOptions, { addresses }: Machine, signal: AbortSignal): Promise<void> {
  const { ingress, networkInformers: informers, clock, log, recorder, random } = options;
  if (!ingress) return;
  const { runIngress } = await import("#ingress/ingress.ts");
  const { client, ...ports } = ingress;
  const onListening = () => options.progress(`the ingress listens on ports ${ports.httpPort} and ${ports.httpsPort}`);
  const host = addresses.some((address) => address.includes(":")) ? "::" : "0.0.0.0";
  const place = { host, ...ports, addresses, onListening };
  await runIngress(place, { client, informers, clock, log, recorder, random }, signal);
}

/** Makes and removes the directories that are this node's volumes. */
async function runVolumes(options: NodeOptions, signal: AbortSignal): Promise<void> {
  const { dataDir, nodeName, provisionerClient: client, networkInformers: informers, clock, log, recorder } = options;
  const { isFurther = false } = options;
  if (!client) return;
  const directories = volumeDirectories(`${dataDir}/volumes`);
  const serves = (node: string): boolean => node === nodeName;
  await runProvisioner({ serves, directories, isFurther }, { client, informers, clock, log, recorder }, signal);
}

const logCheckMs = 60_000;

/** Rotates containerd's log, because containerd itself does not limit it. */
async function boundLog(
  file: string,
  { clock, log }: Pick<NodeOptions, "clock" | "log">,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    try {
      await rotateLogFile(file);
    } catch (error) {
      log.warn("containerd's log could not be rotated", { file, error });
    }
    await clock.sleep(logCheckMs, signal);
  }
}

/** Imports the images of the sandbox and of the examples, so that neither needs a registry. */
async function ensureImages(deps: ImportDeps, signal: AbortSignal): Promise<void> {
  await ensurePauseImage(deps, signal);
  if (await deps.runtime.imageStatus(busyboxImageName, signal)) return;
  await importImage(deps, await buildBusyboxImage(busyboxImageName), signal);
}

interface NetworkParts extends Pick<KubeletParts, "guard" | "machine"> {
  readonly ownEndpoint: OwnEndpoint;
}

/** Runs the pod network as soon as the node has a pod range, and again with another range if its Node gets one. */
async function runNetwork(options: NodeOptions, parts: NetworkParts, signal: AbortSignal): Promise<void> {
  await noteRange(options.dataDir, options.clusterCidr);
  const { informers, nodeName, log } = options;
  const nodes = informers.of(Node, { fieldSelector: `metadata.name=${nodeName}` });
  let podCidr = await rangesOf(nodes, "", signal);
  for (;;) {
    const moved = new AbortController();
    const until = AbortSignal.any([signal, moved.signal]);
    const network = runNetworkIn(podCidr, { ...options, ...parts }, until);
    const next = await Promise.race([rangesOf(nodes, podCidr, signal), network.then(() => undefined)]);
    if (next === undefined) return;
    log.warn("the node has a new pod range", { was: podCidr, is: next });
    moved.abort(new Error("the node has a new pod range"));
    await network;
    podCidr = next;
  }
}

/** The ranges of the node, of both families if it has them, once they are others than these. */
async function rangesOf(nodes: Informer<Node>, known: string, signal: AbortSignal): Promise<string> {
  const found = Promise.withResolvers<string>();
  const stop = nodes.subscribe(({ type, object: { spec } }) => {
    const ranges = (spec?.podCIDRs ?? []).join(",");
    if (type === "put" && ranges && ranges !== known) found.resolve(ranges);
  });
  try {
    return await orAborted(found.promise, signal);
  } finally {
    stop();
  }
}

async function runNetworkIn(podCidrs: string, options: NodeOptions & NetworkParts, signal: AbortSignal): Promise<void> {
  const { bridge, network, table, tunnel: tunnelName } = nodeNames(options.dataDir);
  const { cniConfDir, cniDataDir } = containerdPaths(options.dataDir);
  const addresses = { podCidrs: podCidrs.split(","), mtu: 0, dataDir: cniDataDir };
  const isRouted = arePodsRouted(addresses.podCidrs);
  if (isRouted) await connectBridgedPods(bridge);
  await writeCniConfig(cniConfDir, { name: network, bridge, ...addresses });
  options.progress(`the pod network is ${podCidrs}`);
  const { client, nodeName, clock, log, kubeletPort, apiPort } = options;
  const [pods, cluster, services] = [podCidrs, options.clusterCidr, options.serviceCidr].map(parseDualRange);
  const ingressPorts = options.ingress ? [options.ingress.httpPort, options.ingress.httpsPort] : [];
  await using events = createEventRecorder(client, { component: "kube-proxy", host: nodeName, clock, log });
  const ownPorts = [...(apiPort ? [apiPort] : []), kubeletPort, ...ingressPorts];
  const ranges = rangesOfFamily("ipv4", { pods, cluster, services });
  const second = pods?.ipv6 && cluster?.ipv6 ? rangesOfFamily("ipv6", { pods, cluster, services }) : undefined;
  const both = { podCidr6: second?.podCidr, clusterCidr6: second?.clusterCidr };
  const [address = ""] = options.machine.addresses;
  const base = { ...options, ...ranges, informers: options.networkInformers };
  const podLinks = isRouted ? podLinkPrefix : undefined;
  const rules = { events, tableName: table, masqueradeOutgoing: true, ownPorts, second, podLinks };
  await runTogether(signal, [
    (ended) => runProxy({ ...base, ...rules }, ended),
    (ended) => runRoutes({ ...base, ...both, address, tunnelName }, ended),
  ]);
}

type Ranges = Readonly<Record<"pods" | "cluster" | "services", DualRange | undefined>>;

const rangesOfFamily = (family: keyof DualRange, { pods, cluster, services }: Ranges) => ({
  podCidr: pods?.[family] ?? "",
  clusterCidr: cluster?.[family] ?? "",
  serviceCidr: services?.[family],
});
