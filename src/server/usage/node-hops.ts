import { Node } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import { type Clock } from "#lib/async/clock.ts";
import { outOfTime, withDeadline } from "#lib/async/deadline.ts";
import { type Informers } from "#runtime/informer.ts";
import { type Objects } from "#server/objects/objects.ts";
import { type LocalNodes, type NodeCredentials, NodeLinks, nodeUrl, send } from "#server/streams/node-link.ts";
import { type Hop } from "#trace/hop.ts";
import { parseNodeHops } from "#trace/parse-hops.ts";

/** What a node answers about a trace; not checked. */
export type ReadHops = (node: string, traceId: string, signal: AbortSignal) => Promise<unknown>;

const maxNodes = 20;
const waitMs = 1_000;
/** Enough for some hundred hops. What is made to be slow to parse is also short enough then. */
const maxBytes = 128 << 10;

/** Reads the hops that nodes have recorded, over the connections of the API server to its kubelets. */
export function kubeletHops(objects: Objects, credentials: () => NodeCredentials, local?: LocalNodes): ReadHops {
  const links = new NodeLinks(objects, credentials, local);
  return async (node, traceId, signal) => {
    const link = await links.find(node);
    const url = nodeUrl(link, ["orlop", "hops", traceId]);
    const response = await send({ url, method: "GET", headers: {}, agent: link.agent, signal });
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of response) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > maxBytes) return [];
    }
    return response.statusCode === 200 ? JSON.parse(Buffer.concat(chunks).toString()) : [];
  };
}

export interface NodeHopsDeps {
  readonly informers: Informers;
  readonly clock: Clock;
  readonly read: ReadHops;
}

/** The hops of a trace that other nodes have, besides those that are known. A node that does not answer in time has none. */
export async function hopsOfNodes(
  { informers, clock, read }: NodeHopsDeps,
  { traceId, known }: { readonly traceId: string; readonly known: readonly Hop[] },
  signal: AbortSignal,
): Promise<Hop[]> {
  const nodeOf = (pod: { namespace: string; name: string }) => informers.of(Pod).get(pod)?.spec.nodeName;
  const all = informers
    .of(Node)
    .list()
    .map(({ metadata }) => metadata.name);
  const nodes = planNodes(known, { all, nodeOf });
  const answers = await Promise.all(
    nodes.map(async (node) => {
      const answer = await withDeadline(waitMs, { clock, signal }, (limit) => read(node, traceId, limit)).catch(
        () => [],
      );
      return answer === outOfTime ? [] : parseNodeHops(answer, { node, traceId });
    }),
  );
  const seen = new Set(known.map(({ spanId }) => spanId));
  const others = answers.flat().filter(({ spanId }) => !seen.has(spanId));
  return others.sort((a, b) => a.startMs - b.startMs);
}

/** Which nodes to ask: first those with pods of the trace. In a large cluster most of them have nothing to say. */
export function planNodes(
  known: readonly Hop[],
  {
    all,
    nodeOf,
  }: { readonly all: readonly string[]; nodeOf(pod: { namespace: string; name: string }): string | undefined },
): string[] {
  const names = new Set(all);
  const near = known.flatMap(({ object }) => (object?.resource === "pods" ? (nodeOf(object) ?? []) : []));
  return [...new Set([...near, ...all])].filter((node) => names.has(node)).slice(0, maxNodes);
}
