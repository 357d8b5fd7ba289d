import type { Element, Fragment, TableFrame } from "../rule-table.ts";
import { type Direction, directions, type PolicyPlan, type PortRange, type RulePlan } from "./parse-policy.ts";

type Family = "ip" | "ip6";

/** A pod as the rules see it. */
export interface PolicyPod {
  readonly address: string;
  readonly ports: readonly { readonly name: string; readonly protocol: string; readonly port: number }[];
}

/** The pods of this node that the same policies select, and what those allow. */
export interface PolicyGroup {
  readonly id: string;
  /** The keys of its policies. */
  readonly members: readonly string[];
  readonly policies: readonly PolicyPlan[];
  readonly pods: readonly PolicyPod[];
  /** The pods that a rule has as peers; all pods of the cluster for a rule without peers. */
  membersOf(rule: RulePlan): Iterable<PolicyPod>;
}

/**
 * The part of the table that exists without any policy. Packets of the direction in which a connection was opened are
 * checked for as long as it lasts, so that a new policy also ends open connections:
 *
 *     policy-forward ─▶ @egress (by source) ─▶ egress/… ─▶ return or drop
 *                    └▶ @ingress (by destination) ─▶ ingress/… ─▶ return or drop
 *
 * What the node itself sends to its pods, such as probes, does not pass here, nor what they send to the node.
 */
export const policyFrame = (family: Family): Pick<TableFrame, "sets" | "chains"> => {
  const address = addressType(family);
  return {
    sets: [
      { name: "egress", kind: "map", definition: `type ${address} : verdict;` },
      { name: "ingress", kind: "map", definition: `type ${address} : verdict;` },
      { name: "to-itself", kind: "set", definition: `type ${address} . ${address};` },
    ],
    chains: [
      {
        name: "policy-forward",
        hook: "type filter hook forward priority 1;",
        rules: [
          "ct direction reply accept",
          "ct state related accept",
          // Without it, pods on one bridge could not find each other.
          ...(family === "ip6" ? ["icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } accept"] : []),
          `${family} saddr . ${family} daddr @to-itself accept`,
          `${family} saddr vmap @egress`,
          `${family} daddr vmap @ingress`,
        ],
      },
    ],
  };
};

const addressType = (family: Family): string => (family === "ip" ? "ipv4_addr" : "ipv6_addr");

/** Entries of the rules of one group: as many as the node can render and send without others noticing. */
export const maxGroupSize = 20_000;

/** The rules of a group; undefined if they have more than `maxGroupSize` entries. */
export function renderGroup(family: Family, group: PolicyGroup): Fragment | undefined {
  const { parts, fragment } = begin(family, group);
  for (const direction of directionsOf(group)) {
    const texts = new Set<string>();
    const rules = group.policies.flatMap((policy) => policy.rules[direction] ?? []);
    for (const [index, rule] of rules.entries()) {
      for (const text of renderRule(parts, rule, { direction, index })) texts.add(text);
      if (parts.elements.length + texts.size > maxGroupSize) return undefined;
    }
    restrict(parts, direction, [...texts, "drop"]);
  }
  return fragment;
}

/** The rules of a group that may do nothing. */
export function renderIsolated(family: Family, group: PolicyGroup): Fragment {
  const { parts, fragment } = begin(family, group);
  for (const direction of directionsOf(group)) restrict(parts, direction, ["drop"]);
  return fragment;
}

/** How much of the table the rules of a group take. */
export const sizeOf = ({ elements, chains }: Fragment): number =>
  chains.values().reduce((sum, rules) => sum + rules.length, elements.length);

const directionsOf = ({ policies }: PolicyGroup): readonly Direction[] =>
  directions.filter((direction) => policies.some(({ rules }) => rules[direction]));

interface Parts {
  readonly family: Family;
  readonly group: PolicyGroup;
  readonly chains: Map<string, readonly string[]>;
  readonly sets: Map<string, string>;
  readonly elements: Element[];
  /** The sets of peers. Rules with the same peers share one. */
  readonly peerSets: Map<string, string>;
}

function begin(family: Family, group: PolicyGroup): { readonly parts: Parts; readonly fragment: Fragment } {
  const fragment = { chains: new Map(), sets: new Map(), elements: [] as Element[] };
  for (const { address } of group.pods)
    fragment.elements.push({ set: "to-itself", key: `${address} . ${address}`, value: "" });
  return { fragment, parts: { ...fragment, family, group, peerSets: new Map() } };
}

function restrict({ group, chains, elements }: Parts, direction: Direction, rules: readonly string[]): void {
  const chain = `${direction}/${group.id}`;
  chains.set(chain, rules);
  for (const { address } of group.pods) elements.push({ set: direction, key: address, value: `jump ${chain}` });
}

interface Place {
  readonly direction: Direction;
  readonly index: number;
}

function renderRule(parts: Parts, rule: RulePlan, place: Place): string[] {
  const numbered = portMatches(rule);
  const named = rule.ports?.named ?? [];
  const isIngress = place.direction === "ingress";
  const peers = numbered.length > 0 || isIngress ? peerMatches(parts, rule, place) : [];
  const texts = numbered.flatMap((ports) => peers.map((peer) => `${peer}${ports}return`));
  if (named.length === 0) return texts;
  // A name is looked up in the pod that receives the traffic; each may give it another number.
  const pods = isIngress ? parts.group.pods : parts.group.membersOf(rule);
  const match = namedMatch(parts, rule, { place, pods });
  return [...texts, ...(isIngress ? peers : [""]).map((peer) => `${peer}${match}return`)];
}

/** Matches for the other side, each with a space at its end. */
function peerMatches(parts: Parts, rule: RulePlan, { direction, index }: Place): string[] {
  if (!rule.peers) return [""];
  const { family, group, sets, elements, peerSets } = parts;
  const side = `${family} ${direction === "ingress" ? "saddr" : "daddr"}`;
  const { pods, blocks } = rule.peers;
  const matches = blocks.map(({ range, except }) =>
    except.length > 0 ? `${side} ${range} ${side} != { ${except.join(", ")} } ` : `${side} ${range} `,
  );
  if (pods.length === 0) return matches;
  const key = JSON.stringify(pods);
  const known = peerSets.get(key);
  if (known !== undefined) return [`${side} @${known} `, ...matches];
  const set = `${direction}/${group.id}/${index}`;
  peerSets.set(key, set);
  sets.set(set, `type ${addressType(family)};`);
  for (const { address } of group.membersOf(rule)) {
    if (elements.length > maxGroupSize) break;
    elements.push({ set, key: address, value: "" });
  }
  return [`${side} @${set} `, ...matches];
}

/** Matches for port numbers, each with a space at its end. */
function portMatches({ ports }: RulePlan): string[] {
  if (!ports) return [""];
  return [...Map.groupBy(ports.ranges, ({ protocol }) => protocol)].map(([protocol, ranges]) =>
    ranges.some(({ first }) => first === undefined)
      ? `meta l4proto ${protocol} `
      : `meta l4proto ${protocol} th dport { ${ranges.map(rangeText).join(", ")} } `,
  );
}

const rangeText = ({ first, last }: PortRange): string => (first === last ? `${first}` : `${first}-${last}`);

/** Matches ports by name. An address block has no names. */
function namedMatch(
  { family, group, sets, elements }: Parts,
  { ports }: RulePlan,
  { place, pods }: { readonly place: Place; readonly pods: Iterable<PolicyPod> },
): string {
  const set = `${place.direction}/${group.id}/${place.index}/ports`;
  sets.set(set, `type ${addressType(family)} . inet_proto . inet_service;`);
  const wanted = new Set((ports?.named ?? []).map(({ protocol, name }) => `${protocol} ${name}`));
  for (const { address, ports: own } of pods) {
    if (elements.length > maxGroupSize) break;
    for (const { name, protocol, port } of own) {
      if (wanted.has(`${protocol} ${name}`))
        elements.push({ set, key: `${address} . ${protocol} . ${port}`, value: "" });
    }
  }
  return `${family} daddr . meta l4proto . th dport @${set} `;
}
