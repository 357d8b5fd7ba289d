import { quantityMilliValue, quantityValue } from "#api/meta/quantity.ts";
import type { MachineTopology } from "./machine-topology.ts";
import type { MergeRules, TopologyPolicy } from "./merge-hints.ts";
import type { CpuRules } from "./place-cpus.ts";
import type { MemoryRules } from "./place-memory.ts";
import { takeCpus } from "./take-cpus.ts";

/** What an administrator has chosen. */
export interface PlacementSettings {
  /** Undefined for the policy `none`. */
  readonly cpus: CpuSettings | undefined;
  /** How often containers are moved to the processors that they share. */
  readonly reconcileMs: number;
  /** Memory that is set aside, by NUMA node; undefined for the policy `None`. */
  readonly memory: MemoryRules["reserved"] | undefined;
  readonly topology: TopologySettings;
}
export interface CpuSettings extends Pick<CpuRules, "wholeCores" | "isStrict" | "prefersCache"> {
  /** Processors that are set aside; chosen by their number if undefined. */
  readonly reserved: ReadonlySet<number> | undefined;
}
export interface TopologySettings {
  readonly policy: TopologyPolicy;
  readonly scope: "container" | "pod";
  readonly prefersClosest: boolean;
  readonly maxNodes: number;
}

export interface PlacementRules {
  readonly cpus: CpuRules | undefined;
  readonly memory: MemoryRules | undefined;
  readonly merge: MergeRules;
  readonly scope: "container" | "pod";
}

/** What the node sets aside as a whole. */
export interface SetAside {
  readonly reserved: Readonly<Record<string, string>>;
  /** What eviction keeps free of this much memory, in bytes. */
  keptFree(memoryBytes: number): number;
}

/** The rules for this machine. Throws if the settings do not fit it. */
export function createRules(settings: PlacementSettings, machine: MachineTopology, setAside: SetAside): PlacementRules {
  const { policy, scope, prefersClosest, maxNodes } = settings.topology;
  const { nodes } = machine;
  if (policy !== "none" && nodes.length > maxNodes) {
    throw new Error(`topologyManagerPolicy ${policy}: unsupported on machines with more than ${maxNodes} NUMA Nodes`);
  }
  return {
    cpus: settings.cpus && cpuRules(settings.cpus, machine, setAside),
    memory: settings.memory && memoryRules(settings.memory, machine, setAside),
    merge: { policy, nodes, prefersClosest },
    scope,
  };
}

function cpuRules(settings: CpuSettings, { cpus }: MachineTopology, { reserved }: SetAside): CpuRules {
  const count = Math.ceil(quantityMilliValue(reserved.cpu ?? "0") / 1000);
  const all = new Set(cpus.map(({ id }) => id));
  const named = settings.reserved;
  if (named?.isSubsetOf(all) === false || count > all.size) {
    const wanted = named ? `${[...named].join(",")}` : `${count}`;
    throw new Error(`cpuManagerPolicy static: unable to reserve the processors ${wanted} of ${all.size}`);
  }
  return { ...settings, cpus, reserved: named ?? takeCpus({ all: cpus, free: all, count, prefersCache: false }) };
}

/** What is set aside by NUMA node has to be what the node sets aside as a whole. */
function memoryRules(reserved: MemoryRules["reserved"], { nodes }: MachineTopology, whole: SetAside): MemoryRules {
  const capacity = nodes.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0);
  const unknown = [...reserved.keys()].find((id) => !nodes.some((node) => node.id === id));
  if (unknown !== undefined) throw new Error(`reservedMemory: there is no NUMA node ${unknown}`);
  const total = [...reserved.values()].reduce((sum, amounts) => sum + (amounts.memory ?? 0), 0);
  const expected = quantityValue(whole.reserved.memory ?? "0") + whole.keptFree(capacity);
  if (total !== expected) {
    const by = "determined by systemReserved, kubeReserved and evictionHard";
    throw new Error(`reservedMemory: the total amount ${total} of memory is not equal to the value ${expected} ${by}`);
  }
  return { nodes, reserved };
}
