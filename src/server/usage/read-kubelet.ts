import { type Objects } from "#server/objects/objects.ts";
import {
  type LocalNodes,
  type NodeCredentials,
  NodeLinks,
  nodeUrl,
  readText,
  send,
} from "#server/streams/node-link.ts";
import { type ReadNodeMetrics } from "./usage-scraper.ts";

/** Reads the metrics of nodes over the connections of the API server to its kubelets. */
export function kubeletMetrics(
  objects: Objects,
  credentials: () => NodeCredentials,
  local?: LocalNodes,
): ReadNodeMetrics {
  const links = new NodeLinks(objects, credentials, local);
  return async (node, signal) => {
    const link = await links.find(node);
    const url = nodeUrl(link, ["metrics", "resource"]);
    const response = await send({ url, method: "GET", headers: {}, agent: link.agent, signal });
    if (response.statusCode !== 200) {
      throw new Error(`the node answered ${response.statusCode}: ${(await readText(response)).slice(0, 200)}`);
    }
    return response;
  };
}
