import { Node, type Taint } from "#api/core/node.ts";
import { isAlreadyExists } from "#api/status.ts";
import { hostnameLabel } from "#api/well-known.ts";
import type { Client } from "#client/client.ts";
import type { Machine } from "#kubelet/node/machine.ts";

export interface NewNode {
  readonly name: string;
  readonly machine: Machine;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  readonly podCidr: string;
}

/** Creates a Node whose status is left to stages: it has a capacity, and no conditions. */
export async function createStagedNode(client: Client, node: NewNode, signal: AbortSignal): Promise<void> {
  const { name, machine, labels, taints, podCidr } = node;
  const { architecture, operatingSystem, capacity, allocatable } = machine;
  const own = { "kubernetes.io/arch": architecture, "kubernetes.io/os": operatingSystem, [hostnameLabel]: name };
  const spec = { podCIDR: podCidr, podCIDRs: [podCidr], ...(taints.length > 0 ? { taints: [...taints] } : {}) };
  try {
    const status = { capacity: { ...capacity }, allocatable: { ...allocatable } };
    await client.create(Node, { metadata: { name, labels: { ...own, ...labels } }, spec, status }, { signal });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}
