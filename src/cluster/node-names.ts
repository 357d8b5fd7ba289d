import { readFile, writeFile } from "node:fs/promises";
import { nodeId } from "#kubelet/containerd/paths.ts";
import { podLinkPrefix } from "#kubelet/network/cni.ts";
import { parseCidr } from "#lib/net/ip.ts";

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

const rangeFile = (dataDir: string): string => `${dataDir}/cluster-cidr`;

/** Notes the range of the cluster's pods. By it, what the node has on the machine is found again after the process has ended. */
export const noteRange = (dataDir: string, clusterCidr: string): Promise<void> =>
  writeFile(rangeFile(dataDir), `${clusterCidr}\n`);

/** What was noted, with the range of IPv6 if the cluster has one; undefined if no node has run with this directory. */
export const notedRange = async (dataDir: string): Promise<string | undefined> =>
  (await readFile(rangeFile(dataDir), "utf8").catch(() => "")).trim() || undefined;

/**
 * Whether an address of the machine, such as `10.244.0.1/32`, is the node's end of a pod's own link. There the node has the address
 * of the pods' gateway.
 */
export function isPodLink(link: string, cidr: string, podRange: string): boolean {
  const [address = "", bits] = cidr.split("/");
  return link.startsWith(podLinkPrefix) && bits === "32" && parseCidr(podRange).contains(address);
}
