import { lastingContainers } from "#api/core/pod/pod-containers.ts";
import { isFinished } from "#api/core/pod/pod-state.ts";
import { type Pod } from "#api/core/pod.ts";
import { type StaleFlow } from "./flows/conntrack.ts";
import { type RuleConfig, sendTo, sourcesThatNeedTheNode } from "./nftables.ts";
import { parseAddress, parsePort, parseProtocol, ruleName } from "./parse-values.ts";
import { type Element, type Fragment } from "./rule-table.ts";
import { type PortPlan, type Target } from "./service-map.ts";

/** A port of the node that leads to a pod on this node. */
export interface HostPort {
  readonly protocol: PortPlan["protocol"];
  /** The only address of the node with this port; undefined for all addresses. */
  readonly address: string | undefined;
  readonly port: number;
  readonly target: Target;
}

const none: readonly HostPort[] = [];
const everyAddress = new Set(["", "0.0.0.0", "::"]);
/** A pod with more gets only the first ones. */
const maxHostPorts = 1_000;

/** The host ports of a pod: none once it has ended, nor before it has an address. */
export function planHostPorts({ spec, status }: Pod, family: RuleConfig["family"]): readonly HostPort[] {
  const wanted = family === "ip" ? "IPv4" : "IPv6";
  const address = status.podIPs?.map(({ ip }) => parseAddress(ip, wanted)).find((one) => one !== undefined);
  if (!address || spec.hostNetwork || isFinished({ status })) return none;
  const found: HostPort[] = [];
  for (const container of lastingContainers(spec)) {
    for (const { hostPort, hostIP = "", containerPort, protocol } of container.ports ?? []) {
      const [port, targetPort, transport] = [parsePort(hostPort), parsePort(containerPort), parseProtocol(protocol)];
      const at = everyAddress.has(hostIP) ? undefined : parseAddress(hostIP, wanted);
      if (!port || !targetPort || !transport || (!at && !everyAddress.has(hostIP))) continue;
      if (found.length >= maxHostPorts) return found;
      found.push({ protocol: transport, address: at, port, target: { address, port: targetPort, isLocal: true } });
    }
  }
  return found;
}

/** Why host ports have no effect on a node with these addresses and ports of its own. */
export function hostPortFaults(
  ports: readonly HostPort[],
  own: { readonly addresses: ReadonlySet<string>; readonly ports: readonly number[] | undefined },
): string[] {
  return ports.flatMap(({ address, port, protocol }) => {
    if (address && !own.addresses.has(address)) {
      return [`host port ${port} is ignored: the node has no address ${address}`];
    }
    const isTaken = protocol === "tcp" && (own.ports ?? []).includes(port);
    return isTaken ? [`host port ${port} is ignored: it belongs to the node itself`] : [];
  });
}

export interface PodPorts {
  readonly namespace: string;
  readonly name: string;
  /** Orders pods that want the same port: the one with the lowest rank, which is the oldest, gets it. */
  readonly rank: string;
  readonly ports: readonly HostPort[];
}

/** The rules of a pod. The kernel itself ensures that its ports are only on addresses of the node. */
export function renderHostPorts(config: RuleConfig, { namespace, name, rank, ports }: PodPorts): Fragment {
  const chains = new Map<string, readonly string[]>();
  const elements: Element[] = [];
  const id = ruleName(namespace, name);
  for (const { protocol, address, port, target } of ports) {
    const chain = `host/${id}/${protocol}/${port}${address ? `/${address.replaceAll(":", ".")}` : ""}`;
    chains.set(chain, [
      `${config.family} saddr { ${sourcesThatNeedTheNode(config)} } jump mark-masquerade`,
      sendTo(config.family, protocol, target),
    ]);
    const place = `${protocol} . ${port}`;
    elements.push(
      address
        ? { set: "host-ips", key: `${address} . ${place}`, value: `goto ${chain}` }
        : { set: "host-ports", key: place, value: `goto ${chain}` },
    );
  }
  return { chains, sets: new Map(), elements, rank };
}

/** UDP flows that are stale after a change: those to a removed pod, and those that had no pod. */
export function planStaleHostFlows(old: readonly HostPort[], now: readonly HostPort[]): StaleFlow[] {
  const key = ({ protocol, address, port, target }: HostPort): string =>
    `${protocol} ${address} ${port} ${target.address}`;
  const missing = (all: readonly HostPort[], others: readonly HostPort[]): HostPort[] => {
    const known = new Set(others.map(key));
    return all.filter((one) => one.protocol === "udp" && !known.has(key(one)));
  };
  return [
    ...missing(old, now).map(({ address, port, target }) => ({ address, port, target: target.address })),
    ...missing(now, old).map(({ address, port }) => ({ address, port, target: undefined })),
  ];
}
