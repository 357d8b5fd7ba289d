import { readFile, statfs } from "node:fs/promises";
import os from "node:os";
import { quantityMilliValue, quantityOf, quantityOfMilli, quantityValue } from "#api/meta/quantity.ts";
import { amountOf, isHard, type Threshold } from "#kubelet/eviction/thresholds.ts";
import { goArchitecture } from "#lib/process/go-architecture.ts";

/** The machine that a node runs on. */
export interface Machine {
  readonly hostname: string;
  readonly addresses: readonly string[];
  readonly machineId: string;
  readonly systemUuid: string;
  readonly bootId: string;
  readonly kernelVersion: string;
  readonly osImage: string;
  readonly operatingSystem: string;
  readonly architecture: string;
  readonly swapBytes: number;
  /** Quantities by resource name. */
  readonly capacity: Amounts;
  /** What pods can use of the capacity. */
  readonly allocatable: Amounts;
}
export type Amounts = Readonly<Record<string, string>>;

export interface MachineOptions {
  readonly dataDir: string;
  /** By default what the machine calls itself. Nodes that share a machine need different names. */
  readonly hostname?: string;
  readonly maxPods?: number;
  /** At most so many pods for each processor; 0 for any number. */
  readonly podsPerCore?: number;
  /** Reserved for the system and for Orlop itself. */
  readonly reserved?: Amounts;
  /** Pods are not given the last part of memory and disk, where eviction begins. */
  readonly thresholds?: readonly Threshold[];
  /** By default the first address that is not a loopback address. */
  readonly addresses?: readonly string[];
}

/** Reads the properties of this machine. */
export async function readMachine(options: MachineOptions): Promise<Machine> {
  const { dataDir, maxPods = 110, podsPerCore = 0, reserved = {}, thresholds = [] } = options;
  const [machineId, systemUuid, bootId, release, disk, meminfo] = await Promise.all([
    firstText(["/etc/machine-id", "/var/lib/dbus/machine-id"]),
    firstText(["/sys/class/dmi/id/product_uuid", "/etc/machine-id"]),
    firstText(["/proc/sys/kernel/random/boot_id"]),
    firstText(["/etc/os-release", "/usr/lib/os-release"]),
    statfs(dataDir),
    firstText(["/proc/meminfo"]),
  ]);
  const kibibytes = (name: string) => Number(new RegExp(`^${name}:\\s*(\\d+)`, "m").exec(meminfo)?.[1] ?? 0);
  const memory = `${kibibytes("MemTotal") || Math.floor(os.totalmem() / 1024)}Ki`;
  const diskBytes = disk.blocks * disk.bsize;
  const cores = os.availableParallelism();
  const capacity = {
    cpu: String(cores),
    memory,
    "ephemeral-storage": `${Math.floor(diskBytes / 1024)}Ki`,
    "hugepages-1Gi": "0",
    "hugepages-2Mi": "0",
    pods: String(podsPerCore > 0 ? Math.min(maxPods, podsPerCore * cores) : maxPods),
  };
  return {
    hostname: options.hostname ?? os.hostname(),
    addresses: options.addresses ?? ownAddresses(),
    machineId,
    systemUuid,
    bootId,
    kernelVersion: os.release(),
    osImage: /^PRETTY_NAME="?(.*?)"?$/m.exec(release)?.[1] ?? "Linux",
    operatingSystem: "linux",
    architecture: goArchitecture(),
    swapBytes: kibibytes("SwapTotal") * 1024,
    capacity,
    allocatable: allocatableOf(capacity, { reserved, thresholds, diskBytes }),
  };
}

interface SetAside {
  readonly reserved: Amounts;
  readonly thresholds: readonly Threshold[];
  readonly diskBytes: number;
}

/** What is left of the capacity for pods. */
export function allocatableOf(capacity: Amounts, { reserved, thresholds, diskBytes }: SetAside): Amounts {
  const cpuMilli = quantityMilliValue(capacity.cpu ?? "0") - quantityMilliValue(reserved.cpu ?? "0");
  const memory = podsMemoryBytes({ capacity }, reserved);
  const disk = diskBytes - quantityValue(reserved["ephemeral-storage"] ?? "0");
  const kept = (signal: string, bytes: number): number => keptFree(thresholds, signal, bytes);
  const memoryLeft = memory - kept("memory.available", quantityValue(capacity.memory ?? "0"));
  return {
    ...capacity,
    cpu: quantityOfMilli(Math.max(0, cpuMilli)),
    memory: `${Math.max(0, Math.floor(memoryLeft / 1024))}Ki`,
    "ephemeral-storage": quantityOf(Math.max(0, disk - kept("nodefs.available", diskBytes))),
  };
}

/** What eviction keeps free of a resource of which there is this much. */
export const keptFree = (thresholds: readonly Threshold[], signal: string, bytes: number): number =>
  thresholds
    .filter((one) => one.signal === signal && isHard(one))
    .reduce((sum, { value }) => sum + amountOf(value, { available: bytes, capacity: bytes }), 0);

/** How much memory all pods together may use: all that is not reserved. */
export const podsMemoryBytes = ({ capacity }: Pick<Machine, "capacity">, reserved: Amounts): number =>
  Math.max(0, quantityValue(capacity.memory ?? "0") - quantityValue(reserved.memory ?? "0"));

async function firstText(paths: readonly string[]): Promise<string> {
  for (const path of paths) {
    const text = await readFile(path, "utf8").catch(() => "");
    if (text.trim() !== "") return text.trim();
  }
  return "";
}

/** One per address family, IPv4 first. */
function ownAddresses(): string[] {
  const all = Object.values(os.networkInterfaces()).flatMap((list) => list ?? []);
  const outside = all.filter(({ internal, address }) => !internal && !address.startsWith("fe80"));
  const of = (family: string) => outside.find((one) => one.family === family)?.address;
  const found = [of("IPv4"), of("IPv6")].filter((address) => address !== undefined);
  return found.length > 0 ? found : ["127.0.0.1"];
}

/** A machine that exists only as data. */
export const simulatedMachine = (name: string, address: string, capacity: Amounts = simulatedCapacity): Machine => ({
  hostname: name,
  addresses: [address],
  machineId: name,
  systemUuid: name,
  bootId: name,
  kernelVersion: "simulated",
  osImage: "Orlop (simulated)",
  operatingSystem: "linux",
  architecture: goArchitecture(),
  swapBytes: 0,
  capacity,
  allocatable: capacity,
});
const simulatedCapacity: Amounts = { cpu: "16", memory: "64Gi", "ephemeral-storage": "256Gi", pods: "110" };
