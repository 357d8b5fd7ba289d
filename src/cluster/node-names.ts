import { nodeId } from "#kubelet/containerd/paths.ts";

/** Names on the machine that belong to the node of this data directory. Names of links have at most 15 characters. */
export const nodeNames = (dataDir: string): NodeNames => {
  const id = nodeId(dataDir);
  return {
    bridge: `orlop${id}`,
    table: `orlop_${id}`,
    network: `orlop-${id}`,
    tunnel: `orlopx${id}`,
    nodeBridge: `orlopn${id}`,
    uplink: `orlopv${id}`,
    namespace: `orlop-${id}`,
  };
};

export interface NodeNames {
  /** The bridge of the node's pods. */
  readonly bridge: string;
  readonly table: string;
  readonly network: string;
  /** The tunnel to nodes behind a router. */
  readonly tunnel: string;
  /** The bridge of the nodes that share this machine; of the first node. */
  readonly nodeBridge: string;
  /** The machine's end of the link to a node in its own network namespace. */
  readonly uplink: string;
  readonly namespace: string;
}
