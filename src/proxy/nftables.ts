import type { PortSpan } from "./machine/machine-ports.ts";
import { ruleName } from "./parse-values.ts";
import { policyFrame } from "./policy/render-policy.ts";
import { type Element, type Fragment, type TableFrame } from "./rule-table.ts";
import { type PortPlan, type ServicePlan, type Target } from "./service-map.ts";

/** What the rules need to know about the cluster. */
export interface RuleConfig {
  /** The name of the nft table; one per cluster on a machine. */
  readonly tableName: string;
  readonly family: "ip" | "ip6";
  /** The pods of the whole cluster. Traffic from elsewhere to a cluster address is masqueraded. */
  readonly clusterCidr: string;
  /** The pods of this node. */
  readonly podCidr: string;
  /** Traffic to unused cluster addresses is refused. */
  readonly serviceCidr?: string | undefined;
  /** Masquerades traffic of pods that leaves the cluster, if the pod network does not do that itself. */
  readonly masqueradeOutgoing?: boolean | undefined;
  /** Whether replies between pods of this node pass these rules. If not, such traffic is masqueraded. */
  readonly bridgeIsFiltered: boolean;
  /** How the links of this node's pods begin, if each pod has its own. A packet from there must have the pod's address. */
  readonly podLinks?: string | undefined;
  /** Kernel settings that were changed for the table; `removeProxy` finds them under these names. */
  readonly changedSettings: readonly string[];
  /** From these the kernel gives ports to clients of the machine. */
  readonly clientPorts: PortSpan;
  /** TCP ports of the node's own servers, which no pod and no service gets. */
  readonly ownPorts?: readonly number[] | undefined;
}

/** The packet mark for traffic to masquerade. */
const masqueradeMark = "0x4000";
const loopback = { ip: "127.0.0.0/8", ip6: "::1" } as const;

/**
 * The part of the table that exists without any service. Traffic is looked up once, by address, protocol and port:
 *
 *     nat-prerouting, nat-output ─▶ services ─▶ @service-ips, @balancer-ips, @node-ports, @external-ips ─▶ svc/…, ext/…, local/… ─▶ dnat
 *                                            └▶ @host-ips, @host-ports ─▶ host/… (a pod's host port) ─▶ dnat
 *     filter-input, -forward, -output ─▶ refusals ─▶ @refused-ips, @refused-balancers, @refused-ports, @refused-externals
 *
 * Before all that, `sources` drops packets of pods with addresses that are not theirs.
 */
export function tableFrame(config: RuleConfig): TableFrame {
  const { family } = config;
  const address = addressType(family);
  const portPlace = "inet_proto . inet_service";
  const place = `${address} . ${portPlace}`;
  const policies = policyFrame(family);
  return {
    family,
    name: config.tableName,
    sets: [
      ...policies.sets,
      ...addressMaps.map((name) => ({ name, kind: "map" as const, definition: `type ${place} : verdict;` })),
      ...portMaps.map((name) => ({ name, kind: "map" as const, definition: `type ${portPlace} : verdict;` })),
      { name: "cluster-ips", kind: "set", definition: `type ${address};` },
      { name: "node-ips", kind: "set", definition: `type ${address};` },
      { name: "machine-ports", kind: "set", definition: `type ${portPlace};` },
      { name: "hairpins", kind: "set", definition: `type ${address} . ${address};` },
      ...config.changedSettings.map((setting) => ({
        name: settingSet(setting),
        kind: "set" as const,
        definition: `type ${address};`,
      })),
    ],
    chains: [
      ...sourceChains(config),
      { name: "refuse", rules: ["meta l4proto tcp reject with tcp reset", "reject"] },
      { name: "mark-masquerade", rules: [`meta mark set meta mark | ${masqueradeMark}`] },
      { name: "services", rules: serviceRules(config) },
      { name: "refusals", rules: refusalRules(config) },
      { name: "nat-prerouting", hook: "type nat hook prerouting priority -100;", rules: ["jump services"] },
      { name: "nat-output", hook: "type nat hook output priority -100;", rules: ["jump services"] },
      { name: "nat-postrouting", hook: "type nat hook postrouting priority 100;", rules: masqueradeRules(config) },
      { name: "filter-input", hook: "type filter hook input priority 0;", rules: inputRules(config) },
      {
        name: "filter-forward",
        hook: "type filter hook forward priority 0;",
        rules: ["ct state new jump refusals"],
      },
      { name: "filter-output", hook: "type filter hook output priority 0;", rules: ["ct state new jump refusals"] },
      ...policies.chains,
    ],
  };
}

/** The kernel has a route to each pod by its own link, so the way back tells whose address it is. */
const sourceChains = ({ family, podLinks }: RuleConfig): TableFrame["chains"] =>
  podLinks === undefined || family !== "ip"
    ? []
    : [
        {
          name: "sources",
          hook: "type filter hook prerouting priority -300;",
          rules: [`iifname "${podLinks}*" fib saddr . iif oif missing drop`],
        },
      ];

/** The set that records that a kernel setting was changed for the table. */
export const settingSet = (setting: string): string => `changed/${setting}`;

const addressType = (family: "ip" | "ip6"): string => (family === "ip" ? "ipv4_addr" : "ipv6_addr");

const addressMaps = [
  ...["service-ips", "balancer-ips", "external-ips", "host-ips"],
  ...["refused-ips", "refused-balancers", "refused-externals"],
];
const portMaps = ["node-ports", "host-ports", "refused-ports"];

/**
 * What an address is decides who gets its packets, before any object is looked up: a cluster address belongs to its
 * service, an address of this machine to the machine and its node and host ports, a pod's to the pod. Only the rest can be
 * external addresses. An address from an administrator or a load balancer may be the node's.
 */
const serviceRules = (config: RuleConfig): string[] => {
  const { family, clusterCidr } = config;
  const place = `${family} daddr . meta l4proto . th dport`;
  return [
    `${family} daddr @cluster-ips ${family} saddr != ${clusterCidr} jump mark-masquerade`,
    `${place} vmap @service-ips`,
    ...clusterAddresses(config).map((range) => `${range} return`),
    ...ownPortRules(config),
    ...balancerRules(config, place, "balancer-ips"),
    "fib daddr type local meta l4proto . th dport vmap @node-ports",
    `fib daddr type local ${place} vmap @host-ips`,
    "fib daddr type local meta l4proto . th dport vmap @host-ports",
    ...notExternal(config),
    `${place} vmap @external-ips`,
  ];
};

/** A packet that still has a service's address here was not forwarded. */
const refusalRules = (config: RuleConfig): string[] => {
  const place = `${config.family} daddr . meta l4proto . th dport`;
  return [
    `${place} vmap @refused-ips`,
    ...clusterAddresses(config).map((range) => `${range} goto refuse`),
    ...ownPortRules(config),
    ...balancerRules(config, place, "refused-balancers"),
    "fib daddr type local meta l4proto . th dport vmap @refused-ports",
    ...notExternal(config),
    `${place} vmap @refused-externals`,
  ];
};

const clusterAddresses = ({ family, serviceCidr }: RuleConfig): string[] => [
  `${family} daddr @cluster-ips`,
  ...(serviceCidr ? [`${family} daddr ${serviceCidr}`] : []),
];

const ownPortRules = ({ ownPorts = [] }: RuleConfig): string[] =>
  ownPorts.length > 0 ? [`fib daddr type local tcp dport { ${ownPorts.join(", ")} } return`] : [];

/**
 * A balancer's address may be the machine's, and programs of the machine keep their ports. Packets to another node go there,
 * because only that node knows its programs: otherwise a service could take the API server or SSH away from this node.
 */
const balancerRules = ({ family, clientPorts }: RuleConfig, place: string, map: string): string[] => [
  `fib daddr type != local ${family} daddr != @node-ips ${place} vmap @${map}`,
  `fib daddr type local meta l4proto != udp meta l4proto . th dport != @machine-ports ${place} vmap @${map}`,
  `fib daddr type local udp dport != ${clientPorts[0]}-${clientPorts[1]} meta l4proto . th dport != @machine-ports ${place} vmap @${map}`,
];

/** Skips packets to this machine, to broadcast and multicast addresses, to other nodes, and to pods. */
const notExternal = ({ family, clusterCidr }: RuleConfig): string[] => [
  "fib daddr type { local, broadcast, multicast, anycast } return",
  `${family} daddr @node-ips return`,
  `${family} daddr { ${clusterCidr}, ${loopback[family]} } return`,
];

/** Traffic within the machine itself is not masqueraded: its replies come back anyway. */
function masqueradeRules(config: RuleConfig): string[] {
  const { family, podCidr, clusterCidr } = config;
  const between = `${family} saddr ${podCidr} ${family} daddr ${podCidr}`;
  return [
    'oifname "lo" return',
    `ct status dnat ${family} saddr . ${family} daddr @hairpins masquerade fully-random`,
    ...(config.bridgeIsFiltered ? [] : [`ct status dnat ${between} masquerade fully-random`]),
    `meta mark & ${masqueradeMark} != 0 meta mark set meta mark & 0xffffbfff masquerade fully-random`,
    ...(config.masqueradeOutgoing
      ? [`${family} saddr ${podCidr} ${family} daddr != ${clusterCidr} masquerade fully-random`]
      : []),
  ];
}

/** Node ports on 127.0.0.1 make the kernel route that range, so other machines must be kept out of it. */
const inputRules = ({ family }: RuleConfig): string[] => [
  `iifname != "lo" ${family} daddr ${loopback[family]} ct status & dnat == 0 drop`,
  "ct state new jump refusals",
];

/** Sources whose replies would bypass the node, or never come back. */
export const sourcesThatNeedTheNode = ({ family, podCidr }: RuleConfig): string => `${podCidr}, ${loopback[family]}`;

/** The rules of a node. */
export const renderNode = (addresses: readonly string[]): Fragment => ({
  chains: new Map(),
  sets: new Map(),
  elements: addresses.map((key) => ({ set: "node-ips", key, value: "" })),
});

/** The ports of the machine's own programs. */
export const renderMachinePorts = (ports: Iterable<string>): Fragment => ({
  chains: new Map(),
  sets: new Map(),
  elements: [...ports].map((key) => ({ set: "machine-ports", key, value: "" })),
});

/** The rules of a service. */
export function renderService(family: "ip" | "ip6", clusterCidr: string, plan: ServicePlan): Fragment {
  const parts = { chains: new Map<string, readonly string[]>(), sets: new Map<string, string>() };
  const elements: Element[] = [];
  for (const port of plan.ports) {
    const id = `${ruleName(plan.namespace, plan.name)}/${port.protocol}/${port.port}`;
    for (const address of port.clusterIPs) elements.push({ set: "cluster-ips", key: address, value: "" });
    elements.push(...renderInternal(port, id), ...renderExternal(port, id));
    for (const [name, rules] of chainsOf({ family, clusterCidr }, port, id)) parts.chains.set(name, rules);
    for (const { address, isLocal } of targetsOf(port)) {
      if (isLocal) elements.push({ set: "hairpins", key: `${address} . ${address}`, value: "" });
    }
    if (port.affinitySeconds === 0) continue;
    const definition = `type ${addressType(family)}; flags dynamic,timeout; timeout ${port.affinitySeconds}s;`;
    for (const target of targetsOf(port)) parts.sets.set(affinitySet(port, id, target), definition);
  }
  return { ...parts, elements, rank: plan.rank };
}

/** Each endpoint that this node sends to, once. */
function targetsOf({ cluster, local }: PortPlan): Target[] {
  if (local.length === 0) return [...cluster];
  const known = new Map([...cluster, ...local].map((target) => [`${target.address} ${target.port}`, target]));
  return [...known.values()];
}

/** Where the cluster addresses lead. */
function renderInternal(port: PortPlan, id: string): Element[] {
  const targets = port.internalLocal ? port.local : port.cluster;
  const isRefused = targets.length === 0;
  const verdict = isRefused ? refusal(port) : `goto ${port.internalLocal ? "local" : "svc"}/${id}`;
  const set = isRefused ? "refused-ips" : "service-ips";
  return port.clusterIPs.map((address) => ({ set, key: placeOf(address, port), value: verdict }));
}

/** Where all other addresses, and the node ports, lead. */
function renderExternal(port: PortPlan, id: string): Element[] {
  const { externalIPs, loadBalancerIPs, nodePort, externalLocal, cluster, local } = port;
  const elements: Element[] = [];
  const isSent = cluster.length > 0 || (externalLocal && local.length > 0);
  const isRefused = externalLocal ? local.length === 0 : cluster.length === 0;
  const balanced = new Set(loadBalancerIPs);
  for (const address of new Set([...externalIPs, ...loadBalancerIPs])) {
    const isBalanced = balanced.has(address);
    const value = `goto ${isBalanced && port.sourceRanges.length > 0 ? "guard" : "ext"}/${id}`;
    const key = placeOf(address, port);
    if (isSent) elements.push({ set: isBalanced ? "balancer-ips" : "external-ips", key, value });
    const refusals = isBalanced ? "refused-balancers" : "refused-externals";
    if (isRefused) elements.push({ set: refusals, key, value: refusal(port) });
  }
  if (nodePort === 0) return elements;
  const key = `${port.protocol} . ${nodePort}`;
  if (isSent) elements.push({ set: "node-ports", key, value: `goto ext/${id}` });
  if (isRefused) elements.push({ set: "refused-ports", key, value: refusal(port) });
  return elements;
}

const placeOf = (address: string, { protocol, port }: PortPlan): string => `${address} . ${protocol} . ${port}`;
/** If another node has an endpoint, the packet is dropped, so that the client retries instead of giving up. */
const refusal = ({ hasEndpoints }: PortPlan): string => (hasEndpoints ? "drop" : "goto refuse");

type Family = Pick<RuleConfig, "family" | "clusterCidr">;

function* chainsOf({ family, clusterCidr }: Family, port: PortPlan, id: string): Iterable<[string, string[]]> {
  const { cluster, local, externalLocal, sourceRanges } = port;
  if (port.affinitySeconds > 0) {
    for (const target of targetsOf(port)) yield [endpointChain(id, target), stickyRules(family, port, { id, target })];
  }
  if (cluster.length > 0) yield [`svc/${id}`, balanceRules(family, port, { id, targets: cluster })];
  if (local.length > 0) yield [`local/${id}`, balanceRules(family, port, { id, targets: local })];
  const isExternal = port.nodePort > 0 || port.externalIPs.length > 0 || port.loadBalancerIPs.length > 0;
  if (!isExternal || (cluster.length === 0 && (!externalLocal || local.length === 0))) return;
  yield [`ext/${id}`, externalRules({ family, clusterCidr }, port, id)];
  if (sourceRanges.length === 0 || port.loadBalancerIPs.length === 0) return;
  yield [`guard/${id}`, [`${family} saddr != { ${sourceRanges.join(", ")} } drop`, `goto ext/${id}`]];
}

/** With the policy Local, outside clients stay on this node and keep their address; clients in the cluster go anywhere. */
function externalRules({ family, clusterCidr }: Family, port: PortPlan, id: string): string[] {
  if (!port.externalLocal) return ["jump mark-masquerade", `goto svc/${id}`];
  const own =
    port.cluster.length === 0
      ? []
      : [
          `${family} saddr ${clusterCidr} goto svc/${id}`,
          "fib saddr type local jump mark-masquerade",
          `fib saddr type local goto svc/${id}`,
        ];
  return port.local.length > 0 ? [...own, `goto local/${id}`] : own;
}

interface Balanced {
  readonly id: string;
  readonly targets: readonly Target[];
}

/** Picks an endpoint at random with equal probability; a known client goes to its previous endpoint. */
function balanceRules(family: "ip" | "ip6", port: PortPlan, { id, targets }: Balanced): string[] {
  if (port.affinitySeconds > 0) {
    const known = targets.map(
      (target) => `${family} saddr @${affinitySet(port, id, target)} goto ${endpointChain(id, target)}`,
    );
    return [
      ...known,
      `${pick(targets.length)} vmap { ${numbered(targets, (one) => `goto ${endpointChain(id, one)}`)} }`,
    ];
  }
  const [only] = targets;
  if (only && targets.length === 1) return [sendTo(family, port.protocol, only)];
  const choice = numbered(targets, (target) => `${target.address} . ${target.port}`);
  return [`meta l4proto ${port.protocol} dnat to ${pick(targets.length)} map { ${choice} }`];
}

const pick = (count: number): string => `numgen random mod ${count}`;
const numbered = (targets: readonly Target[], text: (target: Target) => string): string =>
  targets.map((target, index) => `${index} : ${text(target)}`).join(", ");

/** Remembering is a separate rule, so that a client is forwarded even if the set is full. */
const stickyRules = (
  family: "ip" | "ip6",
  port: PortPlan,
  { id, target }: { readonly id: string; readonly target: Target },
): string[] => [`update @${affinitySet(port, id, target)} { ${family} saddr }`, sendTo(family, port.protocol, target)];

export const sendTo = (family: "ip" | "ip6", protocol: PortPlan["protocol"], { address, port }: Target): string =>
  `meta l4proto ${protocol} dnat to ${family === "ip" ? address : `[${address}]`}:${port}`;

/** Names in nft cannot have colons. */
const endpointName = ({ address, port }: Target): string => `${address.replaceAll(":", ".")}/${port}`;
const endpointChain = (id: string, target: Target): string => `ep/${id}/${endpointName(target)}`;
const affinitySet = ({ affinitySeconds }: PortPlan, id: string, target: Target): string =>
  `known/${id}/${endpointName(target)}/${affinitySeconds}s`;
