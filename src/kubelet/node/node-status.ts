import { isExtendedResource } from "#api/core/container/resource-list.ts";
import type { ContainerImage, NodeCondition, NodeStatus } from "#api/core/node.ts";
import type { Pressure } from "#kubelet/eviction/signals.ts";
import type { DeviceCount } from "#kubelet/resources/devices.ts";
import type { Image, RuntimeCondition, RuntimeVersion } from "#kubelet/runtime/runtime.ts";
import { timestamp } from "#lib/async/clock.ts";
import type { Amounts, Machine } from "./machine.ts";

export interface NodeStatusInput {
  readonly machine: Machine;
  readonly kubeletVersion: string;
  /** The port of the kubelet's HTTP server; 0 for none. */
  readonly kubeletPort: number;
  readonly runtime: RuntimeVersion;
  readonly runtimeConditions: readonly RuntimeCondition[];
  /** The conditions of pressure that are true. */
  readonly pressure: readonly Pressure[];
  readonly isShuttingDown?: boolean;
  readonly images: readonly Image[];
  /** How many of them are shown. */
  readonly maxImages?: number;
  /** What device plugins offer, by resource name. */
  readonly devices: ReadonlyMap<string, DeviceCount>;
  readonly previous: Partial<NodeStatus>;
  readonly now: number;
}

/** The status that a node reports. Pure. */
export function nodeStatus(input: NodeStatusInput): NodeStatus {
  const { machine, runtime, previous } = input;
  const extended = extendedOf(previous.capacity);
  const { machineId, systemUuid, bootId, kernelVersion, osImage, operatingSystem, architecture } = machine;
  return {
    ...previous,
    capacity: { ...extended, ...machine.capacity, ...devicesOf(input, "capacity") },
    allocatable: { ...extended, ...machine.allocatable, ...devicesOf(input, "allocatable") },
    conditions: conditionsOf(input),
    addresses: [
      ...machine.addresses.map((address) => ({ type: "InternalIP", address })),
      { type: "Hostname", address: machine.hostname },
    ],
    daemonEndpoints: { kubeletEndpoint: { Port: input.kubeletPort } },
    nodeInfo: {
      machineID: machineId,
      systemUUID: systemUuid,
      bootID: bootId,
      kernelVersion,
      osImage,
      containerRuntimeVersion: `${runtime.name}://${runtime.version}`,
      kubeletVersion: input.kubeletVersion,
      kubeProxyVersion: "",
      operatingSystem,
      architecture,
      ...(machine.swapBytes > 0 ? { swap: { capacity: machine.swapBytes } } : {}),
    },
    images: imagesOf(input.images, input.maxImages ?? 50),
    // Changes of running pods that this kubelet carries out.
    declaredFeatures: ["InPlacePodLevelResourcesVerticalScaling", "InPlacePodVerticalScalingInitContainers"],
    runtimeHandlers: [{ name: "", features: { recursiveReadOnlyMounts: false, userNamespaces: false } }],
    features: { supplementalGroupsPolicy: false },
  };
}

/** Extended resources that others wrote into the node's capacity. All of them can be allocated. */
const extendedOf = (amounts: Amounts = {}): Amounts =>
  Object.fromEntries(Object.entries(amounts).filter(([name]) => isExtendedResource(name)));

const devicesOf = ({ devices }: NodeStatusInput, which: keyof DeviceCount): Amounts =>
  Object.fromEntries(Array.from(devices, ([resource, count]) => [resource, String(count[which])]));

type Draft = Required<Pick<NodeCondition, "type" | "status" | "reason" | "message">>;

function conditionsOf(input: NodeStatusInput): NodeCondition[] {
  const isUnder = (pressure: Pressure) => input.pressure.includes(pressure);
  const drafts: Draft[] = [
    isUnder("MemoryPressure")
      ? draft("MemoryPressure", "True", "KubeletHasInsufficientMemory", "kubelet has insufficient memory available")
      : draft("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    isUnder("DiskPressure")
      ? draft("DiskPressure", "True", "KubeletHasDiskPressure", "kubelet has disk pressure")
      : draft("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    isUnder("PIDPressure")
      ? draft("PIDPressure", "True", "KubeletHasInsufficientPID", "kubelet has insufficient PID available")
      : draft("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    readyOf(input.runtimeConditions, input.isShuttingDown ?? false),
  ];
  const before = input.previous.conditions ?? [];
  const own = new Set(drafts.map(({ type }) => type));
  const now = timestamp(input.now);
  const mine = drafts.map((one) => {
    const old = before.find(({ type }) => type === one.type);
    const since = old?.status === one.status ? (old.lastTransitionTime ?? now) : now;
    return { ...one, lastHeartbeatTime: now, lastTransitionTime: since };
  });
  return [...before.filter(({ type }) => !own.has(type)), ...mine];
}

const draft = (type: string, status: string, reason: string, message: string): Draft => ({
  type,
  status,
  reason,
  message,
});

function readyOf(conditions: readonly RuntimeCondition[], isShuttingDown: boolean): Draft {
  const faults = conditions
    .filter(({ status }) => !status)
    .map(({ type, reason, message }) => {
      const what = type === "NetworkReady" ? "container runtime network not ready" : "container runtime not ready";
      return `${what}: ${type}=false reason:${reason} message:${message}`;
    });
  if (conditions.length === 0) faults.push("container runtime is down");
  if (isShuttingDown) faults.push("node is shutting down");
  if (faults.length === 0) return draft("Ready", "True", "KubeletReady", "kubelet is posting ready status");
  const message = faults.length === 1 ? (faults[0] ?? "") : `[${faults.join(", ")}]`;
  return draft("Ready", "False", "KubeletNotReady", message);
}

const maxNames = 5;

/** Largest first, because the scheduler prefers nodes that have a pod's large images. */
function imagesOf(images: readonly Image[], maxImages: number): ContainerImage[] {
  const named = images.map(({ digests, tags, sizeBytes }) => ({
    names: [...digests, ...tags].slice(0, maxNames),
    sizeBytes,
  }));
  return named.toSorted((a, b) => b.sizeBytes - a.sizeBytes).slice(0, maxImages);
}

/** The events for a change of the conditions, with upstream's names. */
export function conditionEvents(before: readonly NodeCondition[], now: readonly NodeCondition[]): string[] {
  return now.flatMap(({ type, status }) => {
    const was = before.find((one) => one.type === type)?.status;
    const events = transitions[type];
    if (!events || was === status || (was === undefined && type === "Ready")) return [];
    return [status === "True" ? events.on : events.off];
  });
}
const transitions: Readonly<Record<string, { on: string; off: string }>> = {
  MemoryPressure: { on: "NodeHasInsufficientMemory", off: "NodeHasSufficientMemory" },
  DiskPressure: { on: "NodeHasDiskPressure", off: "NodeHasNoDiskPressure" },
  PIDPressure: { on: "NodeHasInsufficientPID", off: "NodeHasSufficientPID" },
  Ready: { on: "NodeReady", off: "NodeNotReady" },
};
