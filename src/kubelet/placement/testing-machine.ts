import type { Cpu, MachineTopology, NumaNode } from "./machine-topology.ts";

export interface MachineShape {
  readonly sockets: number;
  readonly nodesPerSocket: number;
  /** For each NUMA node. */
  readonly cores: number;
  readonly threads: number;
  readonly coresPerCache?: number;
  readonly memoryBytes?: number;
}

/** A machine for tests. Processors are numbered as Linux does it: the first threads of all cores, then the second ones. */
export function aMachine(shape: MachineShape): MachineTopology {
  const { sockets, nodesPerSocket, cores, threads, coresPerCache = cores, memoryBytes = 1024 } = shape;
  const nodeCount = sockets * nodesPerSocket;
  const total = nodeCount * cores;
  const cpus = Array.from({ length: total * threads }, (_, id): Cpu => {
    const core = id % total;
    const numa = Math.floor(core / cores);
    return { id, core, numa, socket: Math.floor(numa / nodesPerSocket), cache: core - (core % coresPerCache) };
  });
  const nodes = Array.from({ length: nodeCount }, (_, id): NumaNode => {
    const distances = Array.from({ length: nodeCount }, (_other, other) => 10 + 10 * Math.abs(id - other));
    return { id, memoryBytes, hugepages: {}, distances };
  });
  return { cpus, nodes };
}
