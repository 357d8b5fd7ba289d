import { readFile, statfs } from "node:fs/promises";
import os from "node:os";
import { quantityOf, quantityValue } from "#api/meta/quantity.ts";
import { goArchitecture } from "#lib/process/processes.ts";

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
  /** Reserved for the system and for Orlop itself. */
  readonly reserved?: Amounts;
  /** By default the first address that is not a loopback address. */
  readonly addresses?: readonly string[];
}

/** Pods are not given the last part of memory and disk, where eviction would begin. */
const evictionMemory = "100Mi";
const evictionDiskShare = 0.1;

/** Reads the properties of this machine. */
export async function readMachine(options: MachineOptions): Promise<Machine> {
  const { dataDir, maxPods = 110, reserved = {} } = options;
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
  const capacity = {
    cpu: String(os.availableParallelism()),
    memory,
    "ephemeral-storage": `${Math.floor(diskBytes / 1024)}Ki`,
    "hugepages-1Gi": "0",
    "hugepages-2Mi": "0",
    pods: String(maxPods),
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
    allocatable: allocatableOf(capacity, reserved, Math.floor(diskBytes * (1 - evictionDiskShare))),
  };
}

function allocatableOf(capacity: Amounts, reserved: Amounts, diskBytes: number): Amounts {
  const cpuMilli = Number(capacity.cpu) * 1000 - Math.ceil(Number(reserved.cpu?.replace(/m$/, "") ?? 0));
  const memory =
    quantityValue(capacity.memory ?? "0") - quantityValue(evictionMemory) - quantityValue(reserved.memory ?? "0");
  const disk = diskBytes - quantityValue(reserved["ephemeral-storage"] ?? "0");
  return {
    ...capacity,
    cpu: cpuMilli % 1000 === 0 ? String(cpuMilli / 1000) : `${cpuMilli}m`,
    memory: `${Math.max(0, Math.floor(memory / 1024))}Ki`,
    "ephemeral-storage": quantityOf(Math.max(0, disk)),
  };
}

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
