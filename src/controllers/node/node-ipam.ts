import { Node } from "#api/core/node.ts";
import { createEventRecorder } from "#client/events.ts";
import { type Cidr, formatIPv4, parseCidr } from "#lib/net/ip.ts";
import { type Reconciler, type ReconcilerDeps } from "#runtime/reconciler.ts";

export interface NodeIpamOptions {
  /** The range of all pods; default 10.244.0.0/16. */
  readonly clusterCidr?: string;
  /** How large a node's part is; default 24 bits. */
  readonly nodeCidrBits?: number;
}

const retryMs = 60_000;

/** Gives every node its own part of the range from which pods get their addresses. */
export const nodeIpamController =
  ({ clusterCidr = "10.244.0.0/16", nodeCidrBits = 24 }: NodeIpamOptions = {}) =>
  (deps: ReconcilerDeps): Reconciler<Node> => {
    const { client, informers } = deps;
    const nodes = informers.of(Node);
    const events = createEventRecorder(client, { ...deps, component: "cidrAllocator" });
    const range = parseCidr(clusterCidr);
    /** What was given out and may not be seen on the node yet. */
    const given = new Map<string, string>();
    return {
      name: "node-ipam",
      reconciles: Node,
      // One at a time: two nodes must not choose the same.
      workers: 1,

      async reconcile({ metadata, spec }, signal) {
        const { name = "", uid = "", resourceVersion = "" } = metadata;
        if (metadata.deletionTimestamp) return;
        if (spec.podCIDR) {
          given.delete(name);
          return;
        }
        const taken = [...given.values(), ...nodes.list().flatMap(({ spec: { podCIDR } }) => podCIDR ?? [])];
        const cidr = given.get(name) ?? firstFree(range, nodeCidrBits, new Set(taken));
        if (!cidr) {
          const about = { apiVersion: "v1", kind: "Node", name, uid };
          events.event(about, "Normal", "CIDRNotAvailable", `Node ${name} status is now: CIDRNotAvailable`);
          return { afterMs: retryMs };
        }
        given.set(name, cidr);
        const body = { metadata: { resourceVersion }, spec: { podCIDR: cidr, podCIDRs: [cidr] } };
        await client.patch(Node, { name }, { type: "merge", body }, { signal });
        return undefined;
      },
      async gone({ name }) {
        given.delete(name);
      },
    };
  };

/** The first part of the range that nobody has; parts that lie in a taken range of another size are not free either. */
export function firstFree(range: Cidr, bits: number, taken: ReadonlySet<string>): string | undefined {
  const size = 2 ** (32 - bits);
  const others = [...taken].filter((cidr) => !cidr.includes(":") && !cidr.endsWith(`/${bits}`)).map(parseCidr);
  for (let base = range.base; base + size <= range.base + range.size; base += size) {
    const cidr = `${formatIPv4(base)}/${bits}`;
    if (taken.has(cidr)) continue;
    if (!others.some((other) => other.base < base + size && base < other.base + other.size)) return cidr;
  }
  return undefined;
}
