import { type Pod } from "#api/core/pod.ts";
import { lastingContainers } from "#api/core/pod-containers.ts";
import { isFinished } from "#api/core/pod-state.ts";
import { ipFamily } from "#api/meta/ip-address.ts";
import { type StaleFlow } from "./conntrack.ts";
import { type RuleConfig, sendTo, sourcesThatNeedTheNode } from "./nftables.ts";
import { type Element, type Fragment } from "./rule-table.ts";
import { type Target } from "./service-map.ts";

/** A port of the node that leads to a pod on it. */
export interface HostPort {
  readonly protocol: "tcp" | "udp" | "sctp";
  /** The only address of the node that has it; undefined: all have. */
  readonly address: string | undefined;
  readonly port: number;
  readonly target: Target;
}

const none: readonly HostPort[] = [];
const everyAddress = new Set(["", "0.0.0.0", "::"]);

/** Which ports of the node a pod has: none once it has ended, nor before it has an address. */
export function planHostPorts({ spec, status }: Pod, family: RuleConfig["family"]): readonly HostPort[] {
  const wanted = family === "ip" ? "IPv4" : "IPv6";
  const address = status.podIPs?.find(({ ip }) => ipFamily(ip) === wanted)?.ip;
  if (!address || spec.hostNetwork || isFinished({ status })) return none;
  let found = none;
  for (const container of lastingContainers(spec)) {
    for (const { hostPort, hostIP = "", containerPort, protocol } of container.ports ?? []) {
      if (!hostPort || (!everyAddress.has(hostIP) && ipFamily(hostIP) !== wanted)) continue;
      const one: HostPort = {
        protocol: protocol === "UDP" ? "udp" : protocol === "SCTP" ? "sctp" : "tcp",
        address: everyAddress.has(hostIP) ? undefined : hostIP,
        port: hostPort,
        target: { address, port: containerPort, isLocal: true },
      };
      found = [...found, one];
    }
  }
  return found;
}

/** What a pod adds to the table: its ports are looked up where those of services are. */
export function renderHostPorts(config: RuleConfig, pod: string, ports: readonly HostPort[]): Fragment {
  const chains = new Map<string, readonly string[]>();
  const elements: Element[] = [];
  for (const { protocol, address, port, target } of ports) {
    const chain = `host/${pod}/${protocol}/${port}${address ? `/${address.replaceAll(":", ".")}` : ""}`;
    chains.set(chain, [
      `${config.family} saddr { ${sourcesThatNeedTheNode(config)} } jump mark-masquerade`,
      sendTo(config.family, protocol, target),
    ]);
    const place = `${protocol} . ${port}`;
    elements.push(
      address
        ? { set: "service-ips", key: `${address} . ${place}`, value: `goto ${chain}` }
        : { set: "node-ports", key: place, value: `goto ${chain}` },
    );
  }
  return { chains, sets: new Map(), elements };
}

/** UDP flows that a change leaves behind: those to a pod that is gone, and those that had none to go to. */
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
