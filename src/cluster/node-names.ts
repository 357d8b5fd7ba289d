import { nodeId } from "#kubelet/containerd/paths.ts";

/** Names on the machine that belong to the node of this data directory. */
export const nodeNames = (dataDir: string): { bridge: string; table: string; network: string } => {
  const id = nodeId(dataDir);
  return { bridge: `orlop${id}`, table: `orlop_${id}`, network: `orlop-${id}` };
};
