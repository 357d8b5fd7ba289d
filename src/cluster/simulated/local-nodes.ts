import type { Agent } from "node:http";
import type { KubeletHandle } from "#kubelet/server/handle.ts";
import type { Clock } from "#lib/async/clock.ts";
import { createLocalServer } from "#lib/net/local-server.ts";
import { ignore } from "#lib/net/sockets.ts";
import type { Log } from "#lib/process/log.ts";
import type { ReportingNodes } from "#server/usage/read-kubelet.ts";
import type { SimulatedNode } from "./simulated-nodes.ts";

/** How the API server reaches simulated nodes and their pods. */
export const localNodesOf = (nodes: Iterable<SimulatedNode>): ReportingNodes => ({
  agentOf: (name) => find(nodes, (node) => (node.name === name ? node.agent() : undefined)),
  reportOf: (name) => find(nodes, (node) => (node.name === name ? node.report() : undefined)),
  connectToPod: (ip, port) => find(nodes, ({ runtime }) => runtime.connect(ip, port)),
});

/** The same where nothing else exists: no connection ever leaves this process. */
export function onlyLocalNodes(nodes: Iterable<SimulatedNode>): ReportingNodes {
  const local = localNodesOf(nodes);
  return {
    ...local,
    agentOf: (name) => local.agentOf(name) ?? Promise.resolve(refusing(`${name} is not simulated`)),
    connectToPod: (ip, port) =>
      local.connectToPod(ip, port) ?? Promise.reject(new Error(`connect ${ip}:${port}: no route to host`)),
  };
}

function find<T>(nodes: Iterable<SimulatedNode>, look: (node: SimulatedNode) => T | undefined): T | undefined {
  for (const node of nodes) {
    const found = look(node);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Whoever connects is told why it is impossible. */
export const refusing = (why: string): Agent =>
  createLocalServer({
    onRequest: ignore,
    mayConnect() {
      throw new Error(`connect: connection refused: ${why}`);
    },
  }).agent;

/** Connects to the server of a kubelet as long as that runs. The code is loaded for the first request. */
export async function openKubelet(
  handle: KubeletHandle,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
  isRunning: () => boolean,
): Promise<Agent> {
  const { createLocalKubeletServer } = await import("#kubelet/server/server.ts");
  return createLocalKubeletServer({ handle, clock, log }, () => {
    if (!isRunning()) throw new Error(`connect: connection refused: the kubelet of ${handle.nodeName} is stopped`);
  });
}
