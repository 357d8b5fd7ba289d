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
          `${family} saddr . ${family} daddr @to-itself accept`,
          `${family} saddr vmap @egress`,
          `${family} daddr vmap @ingress`,
        ],
      },
    ],
  };
};

const addressType = (family: Family): string => (family === "ip" ? "ipv4_addr" : "ipv6_addr");

/** The rules of a group. Without `allows`, its pods are isolated and nothing is allowed. */
export function renderGroup(family: Family, group: PolicyGroup, { allows }: { readonly allows: boolean }): Fragment {
  const parts: Parts = { family, group, chains: new Map(), sets: new Map(), elements: [] };
  for (const { address } of group.pods)
    parts.elements.push({ set: "to-itself", key: `${address} . ${address}`, value: "" });
  for (const direction of directions) {
    const rules = group.policies.flatMap((policy) => policy.rules[direction] ?? []);
    if (!group.policies.some((policy) => policy.rules[direction])) continue;
    const chain = `${direction}/${group.id}`;
    const texts = allows ? rules.flatMap((rule, index) => renderRule(parts, rule, { direction, index })) : [];
    parts.chains.set(chain, [...new Set(texts), "drop"]);
    for (const { address } of group.pods) parts.elements.push({ set: direction, key: address, value: `jump ${chain}` });
  }
  return { chains: parts.chains, sets: parts.sets, elements: parts.elements };
}

interface Parts {
  readonly family: Family;
  readonly group: PolicyGroup;
  readonly chains: Map<string, readonly string[]>;
  readonly sets: Map<string, string>;
  readonly elements: Element[];
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
function peerMatches({ family, group, sets, elements }: Parts, rule: RulePlan, { direction, index }: Place): string[] {
  if (!rule.peers) return [""];
  const side = `${family} ${direction === "ingress" ? "saddr" : "daddr"}`;
  const { pods, blocks } = rule.peers;
  const matches = blocks.map(({ range, except }) =>
    except.length > 0 ? `${side} ${range} ${side} != { ${except.join(", ")} } ` : `${side} ${range} `,
  );
  if (pods.length === 0) return matches;
  const set = `${direction}/${group.id}/${index}`;
  sets.set(set, `type ${addressType(family)};`);
  for (const { address } of group.membersOf(rule)) elements.push({ set, key: address, value: "" });
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
    for (const { name, protocol, port } of own) {
      if (wanted.has(`${protocol} ${name}`))
        elements.push({ set, key: `${address} . ${protocol} . ${port}`, value: "" });
    }
  }
  return `${family} daddr . meta l4proto . th dport @${set} `;
}
