import { type Node } from "#api/core/node.ts";
import { isConditionTrue } from "#api/meta/condition.ts";
import { JoinError } from "./cluster-info.ts";

/**
 * Throws if this machine is a node of the cluster already. Two nodes in one network would undo each other's routes and rules.
 * A node that is not ready may be what an earlier name of this machine left behind, so it does not count.
 */
export function refuseSecondNode(
  { nodeName, addresses }: { readonly nodeName: string; readonly addresses: readonly string[] },
  nodes: readonly Node[],
): void {
  const here = new Set(addresses.filter((address) => !address.startsWith("127.") && address !== "::1"));
  for (const { metadata, status } of nodes) {
    if (metadata.name === nodeName || !isConditionTrue(status?.conditions, "Ready")) continue;
    const shared = status?.addresses?.find(({ type, address }) => type === "InternalIP" && here.has(address));
    if (!shared) continue;
    throw new JoinError(
      `this machine is the node ${metadata.name} of the cluster already, with the address ${shared.address}: \`orlop up --nodes N\` gives one machine several nodes`,
    );
  }
}
