import path from "node:path";
import { formatIPv4, parseCidr } from "#lib/net/ip.ts";
import { nodeNames } from "../node-names.ts";

/** A node that shares the machine with others, in its own network namespace. */
export interface LocalMachine {
  readonly nodeName: string;
  readonly dataDir: string;
  readonly namespace: string;
  /** This machine's end of the link to it. */
  readonly uplink: string;
  readonly address: string;
}

/**
 * Several nodes on one machine: the first has the machine's own network, each further one a network of its own.
 *
 *     machine ── bridge (10.245.0.1) ─┬─ uplink ── eth0 (10.245.0.2) node 2
 *                                     └─ uplink ── eth0 (10.245.0.3) node 3
 */
export interface MachinesPlan {
  readonly bridge: string;
  /** The address of the first node, and the others' way out. */
  readonly gateway: string;
  readonly bits: number;
  /** The nft table that lets them reach what is outside of the machine. */
  readonly table: string;
  readonly nodeCidr: string;
  readonly clusterCidr: string;
  readonly machines: readonly LocalMachine[];
}

export interface MachinesOptions {
  readonly dataDir: string;
  readonly nodeName: string;
  /** How many nodes the cluster has, with the first. */
  readonly count: number;
  readonly nodeCidr: string;
  readonly clusterCidr: string;
}

/** The directory with the data of all further nodes. */
export const machinesDir = (dataDir: string): string => path.join(dataDir, "nodes");

export function planMachines({ dataDir, nodeName, count, nodeCidr, clusterCidr }: MachinesOptions): MachinesPlan {
  const { base, bits } = parseCidr(nodeCidr);
  const { nodeBridge, table } = nodeNames(dataDir);
  const machines = Array.from({ length: Math.max(0, count - 1) }, (_, index) => {
    const name = `${nodeName}-${index + 2}`;
    const dir = path.join(machinesDir(dataDir), name);
    const { namespace, uplink } = nodeNames(dir);
    return { nodeName: name, dataDir: dir, namespace, uplink, address: formatIPv4(base + index + 2) };
  });
  const ranges = { nodeCidr: `${formatIPv4(base)}/${bits}`, clusterCidr };
  return { bridge: nodeBridge, gateway: formatIPv4(base + 1), bits, table: `${table}_nodes`, ...ranges, machines };
}
