import { Node } from "#api/core/node.ts";
import { hostPorts } from "#api/core/pod/host-ports.ts";
import { podRequests } from "#api/core/pod/pod-resources.ts";
import { isFinished } from "#api/core/pod/pod-state.ts";
import { Pod } from "#api/core/pod.ts";
import { addQuantities, subtractQuantities } from "#api/meta/quantity.ts";
import { type Client } from "#client/client.ts";
import { type NodeRoom } from "./facts.ts";

/** What is free on every node: its allocatable resources minus the requests of its pods. */
export async function roomsOf(client: Client): Promise<NodeRoom[]> {
  const [nodes, pods] = await Promise.all([
    client.list(Node).catch(() => ({ items: [] })),
    client.list(Pod).catch(() => ({ items: [] })),
  ]);
  return planRooms(nodes.items, pods.items);
}

export function planRooms(nodes: readonly Node[], pods: readonly Pod[]): NodeRoom[] {
  const used = new Map<string, Record<string, string>>();
  for (const pod of pods) {
    const { spec } = pod;
    if (!spec.nodeName || isFinished(pod)) continue;
    const sums = used.get(spec.nodeName) ?? {};
    for (const [name, amount] of Object.entries({ ...podRequests(spec), pods: "1" })) {
      sums[name] = addQuantities(sums[name] ?? "0", amount);
    }
    used.set(spec.nodeName, sums);
  }
  const ports = Map.groupBy(pods, ({ spec }) => spec.nodeName ?? "");
  return nodes.map((node) => {
    const taken = used.get(node.metadata.name) ?? {};
    const offered = Object.entries(node.status.allocatable ?? {});
    return {
      node,
      hostPorts: hostPortsOf(ports.get(node.metadata.name) ?? []),
      free: Object.fromEntries(offered.map(([name, amount]) => [name, subtractQuantities(amount, taken[name] ?? "0")])),
    };
  });
}

const hostPortsOf = (pods: readonly Pod[]): ReadonlyMap<string, string> =>
  new Map(pods.flatMap((pod) => wantedHostPorts(pod).map((port) => [port, pod.metadata.name] as const)));

/** `8080/TCP`. */
export const wantedHostPorts = (pod: Pod): string[] =>
  hostPorts(pod).map((text) => {
    const [protocol, , port] = text.split(" ");
    return `${port}/${protocol}`;
  });
