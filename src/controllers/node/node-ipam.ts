import { Node } from "#api/core/node.ts";
import { referenceTo } from "#client/events.ts";
import { nodeRange6, parseCidr6, parseDualRange } from "#lib/net/dual-range.ts";
import { parseCidr } from "#lib/net/ip.ts";
import { type Change } from "#runtime/informer.ts";
import { againAfter, type Reconciler, type ReconcilerDeps, watch } from "#runtime/reconciler.ts";
import { NodeRanges } from "./node-ranges.ts";

export interface NodeIpamOptions {
  /** The range of all pods, and one of IPv6 after a comma if there is one; default 10.244.0.0/16. */
  readonly clusterCidr?: string;
  /** The prefix length of a node's range; default 24 bits. */
  readonly nodeCidrBits?: number;
}

const retryMs = 60_000;

/** Gives every node its own range of pod addresses. */
export const nodeIpamController =
  ({ clusterCidr = "10.244.0.0/16", nodeCidrBits = 24 }: NodeIpamOptions = {}) =>
  ({ client, events }: ReconcilerDeps): Reconciler<Node> => {
    const { ipv4, ipv6 } = parseDualRange(clusterCidr);
    const cluster = parseCidr(ipv4);
    const ranges = new NodeRanges(cluster, nodeCidrBits);
    // The second range of a node follows from its first, so nobody has to keep track of it.
    const secondOf = (cidr: string): string | undefined =>
      ipv6 === undefined
        ? undefined
        : nodeRange6(parseCidr6(ipv6), (parseCidr(cidr).base - cluster.base) / 2 ** (32 - nodeCidrBits));
    return {
      name: "node-ipam",
      reconciles: Node,
      // One at a time: two nodes must not choose the same range.
      workers: 1,
      watches: [watch(Node, (change) => note(ranges, change))],

      async reconcile(node, signal) {
        const { metadata, spec } = node;
        const { name, resourceVersion } = metadata;
        if (metadata.deletionTimestamp || spec.podCIDR) return;
        const cidr = ranges.take(name);
        if (!cidr) {
          const message = `Node ${name} status is now: CIDRNotAvailable`;
          events.event(referenceTo(Node, node), "Normal", "CIDRNotAvailable", message);
          return againAfter(retryMs);
        }
        const second = secondOf(cidr);
        const podCIDRs = second === undefined ? [cidr] : [cidr, second];
        const body = { metadata: { resourceVersion }, spec: { podCIDR: cidr, podCIDRs } };
        await client.patch(Node, { name }, { type: "merge", body }, { signal });
        return undefined;
      },
    };
  };

/** Wakes no other node: one with a range needs none, and one without has its own run. */
function note(ranges: NodeRanges, { type, object: { metadata, spec } }: Change<Node>): [] {
  const { name } = metadata;
  if (type === "delete") ranges.release(name);
  else if (spec.podCIDR) ranges.hold(name, spec.podCIDR);
  return [];
}
