import type { LabelSelector } from "#api/meta/label-selector.ts";
import type { NetworkPolicy } from "#api/networking/network-policy.ts";
import { parsePort, parseProtocol, parseRanges } from "../parse-values.ts";

export type Direction = "ingress" | "egress";
export const directions: readonly Direction[] = ["ingress", "egress"];
type Protocol = "tcp" | "udp" | "sctp";

/** What a policy allows, with every value parsed. */
export interface PolicyPlan {
  readonly namespace: string;
  readonly selector: LabelSelector;
  /** The rules of each direction that the policy restricts. */
  readonly rules: { readonly [direction in Direction]?: readonly RulePlan[] };
  readonly faults: readonly string[];
}

export interface RulePlan {
  /** Undefined for everybody. */
  readonly peers: { readonly pods: readonly PodPeer[]; readonly blocks: readonly Block[] } | undefined;
  /** Undefined for all traffic. */
  readonly ports: { readonly ranges: readonly PortRange[]; readonly named: readonly NamedPort[] } | undefined;
}

/** Pods of some namespaces: those that the selector matches, or only the policy's own. */
export interface PodPeer {
  readonly namespaces: LabelSelector | string;
  readonly pods: LabelSelector;
}

export interface Block {
  readonly range: string;
  readonly except: readonly string[];
}

/** All ports of the protocol, if there is no first one. */
export interface PortRange {
  readonly protocol: Protocol;
  readonly first?: number;
  readonly last?: number;
}

export interface NamedPort {
  readonly protocol: Protocol;
  readonly name: string;
}

/** Peers, exceptions and ports of one policy. One with more of them isolates its pods and allows nothing. */
export const maxPolicySize = 2_000;

type Rule = NonNullable<NetworkPolicy["spec"]["ingress"]>[number] &
  NonNullable<NetworkPolicy["spec"]["egress"]>[number];
type Peer = NonNullable<Rule["from"]>[number];
type Port = NonNullable<Rule["ports"]>[number];

/** Reads a policy for addresses of one family. What it cannot read allows nothing. */
export function parsePolicy({ metadata, spec }: NetworkPolicy, family: "IPv4" | "IPv6"): PolicyPlan {
  const { namespace } = metadata;
  const types: readonly string[] = spec.policyTypes ?? ["Ingress"];
  const faults = policySize({ spec }) > maxPolicySize ? [tooLarge] : [];
  const rulesOf = (rules: readonly Rule[] = []): RulePlan[] =>
    faults.length > 0 ? [] : rules.map((rule) => parseRule(rule, { namespace, family }));
  return {
    namespace,
    selector: spec.podSelector,
    rules: {
      ...(types.includes("Ingress") ? { ingress: rulesOf(spec.ingress) } : {}),
      ...(types.includes("Egress") ? { egress: rulesOf(spec.egress) } : {}),
    },
    faults,
  };
}

const tooLarge = `the policy allows nothing: it has more than ${maxPolicySize} peers, exceptions and ports`;

/** What it costs to follow and render a policy; not counted further once it is too large. */
export function policySize({ spec: { ingress = [], egress = [] } }: Pick<NetworkPolicy, "spec">): number {
  let size = 0;
  for (const { from, to, ports = [] } of [...ingress, ...egress] as readonly Rule[]) {
    const peers = [...(from ?? []), ...(to ?? [])];
    // Each peer is combined with the ports.
    size += 1 + ports.length + peers.length * 3;
    for (const { ipBlock } of peers) size += ipBlock?.except?.length ?? 0;
    if (size > maxPolicySize) return size;
  }
  return size;
}

interface Where {
  readonly namespace: string;
  readonly family: "IPv4" | "IPv6";
}

function parseRule({ from = [], to = [], ports = [] }: Rule, where: Where): RulePlan {
  const peers = [...from, ...to];
  return {
    peers: peers.length === 0 ? undefined : parsePeers(peers, where),
    ports: ports.length === 0 ? undefined : parsePorts(ports),
  };
}

function parsePeers(peers: readonly Peer[], { namespace, family }: Where): RulePlan["peers"] {
  const pods: PodPeer[] = [];
  const blocks: Block[] = [];
  for (const { podSelector, namespaceSelector, ipBlock } of peers) {
    if (ipBlock) {
      const [range] = parseRanges([ipBlock.cidr], family);
      if (range) blocks.push({ range, except: parseRanges(ipBlock.except ?? [], family) });
    } else if (podSelector || namespaceSelector) {
      pods.push({ namespaces: namespaceSelector ?? namespace, pods: podSelector ?? {} });
    }
  }
  return { pods, blocks };
}

function parsePorts(ports: readonly Port[]): RulePlan["ports"] {
  const ranges: PortRange[] = [];
  const named: NamedPort[] = [];
  for (const { port, endPort, protocol: text } of ports) {
    const protocol = parseProtocol(text);
    if (!protocol) continue;
    if (typeof port === "string") named.push({ protocol, name: port });
    else if (port === undefined) ranges.push({ protocol });
    else {
      const [first, last] = [parsePort(port), parsePort(endPort ?? port)];
      if (first && last && first <= last) ranges.push({ protocol, first, last });
    }
  }
  return { ranges: joinRanges(ranges), named };
}

/** Older versions of nft refuse a set with ranges that overlap. */
function joinRanges(ranges: readonly PortRange[]): PortRange[] {
  const joined: PortRange[] = [];
  for (const [protocol, own] of Map.groupBy(ranges, (range) => range.protocol)) {
    if (own.some(({ first }) => first === undefined)) {
      joined.push({ protocol });
      continue;
    }
    let open: { first: number; last: number } | undefined;
    for (const { first = 0, last = 0 } of own.toSorted((a, b) => (a.first ?? 0) - (b.first ?? 0))) {
      if (open && first <= open.last + 1) open.last = Math.max(open.last, last);
      else {
        if (open) joined.push({ protocol, ...open });
        open = { first, last };
      }
    }
    if (open) joined.push({ protocol, ...open });
  }
  return joined;
}
