import { type Objects } from "#server/objects/objects.ts";
import {
  type LocalNodes,
  type NodeCredentials,
  NodeLinks,
  nodeUrl,
  readText,
  send,
} from "#server/streams/node-link.ts";
import { type NodeReport } from "./resource-metrics.ts";
import { type ReadNodeMetrics } from "./usage-scraper.ts";

/** Nodes that run in this process, and say what they use. */
export interface ReportingNodes extends LocalNodes {
  /** What the node would say at `/metrics/resource`; undefined for any other node. */
  reportOf(node: string): Promise<NodeReport> | undefined;
}

/**
 * Reads the metrics of nodes over the connections of the API server to its kubelets. A node in this process is asked
 * without text and streams in between, which would cost more than everything else that such a node does.
 */
export function kubeletMetrics(
  objects: Objects,
  credentials: () => NodeCredentials,
  local?: ReportingNodes,
): ReadNodeMetrics {
  const links = new NodeLinks(objects, credentials, local);
  return async (node, signal) => {
    const report = await local?.reportOf(node);
    if (report) return report;
    const link = await links.find(node);
    const url = nodeUrl(link, ["metrics", "resource"]);
    const response = await send({ url, method: "GET", headers: {}, agent: link.agent, signal });
    if (response.statusCode !== 200) {
      throw new Error(`the node answered ${response.statusCode}: ${(await readText(response)).slice(0, 200)}`);
    }
    return response;
  };
}
