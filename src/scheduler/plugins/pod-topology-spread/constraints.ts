import { matchesRequired, requiredTerms } from "#api/core/node-match.ts";
import { type TopologySpreadConstraint } from "#api/core/pod/affinity.ts";
import { toleratesNode } from "#api/core/pod/tolerations.ts";
import { type Pod } from "#api/core/pod.ts";
import { isEmptySelector, type Requirement, requirementsOf } from "#api/meta/label-selector.ts";
import { labelMatcher } from "#api/meta/selector-matchers.ts";
import { BoundedCache } from "#lib/data/bounded-cache.ts";
import { type DomainSums } from "../../topology/domain-sums.ts";
import { type Domains, noDomain } from "../../topology/domains.ts";
import { type PodSet, type Topology } from "../../topology/topology.ts";

/** A rule of a pod on how pods are spread, with what the cluster is like. */
export interface Spread {
  readonly domains: Domains;
  readonly maxSkew: number;
  readonly minDomains: number;
  /** Slot → pods that count. */
  readonly counts: Int32Array;
  /** The same by domain, if all nodes are counted. */
  readonly sums: DomainSums;
  /** Whether the pod itself counts. */
  readonly countsItself: boolean;
  /** Whether pods on this node count. undefined: on every node. */
  readonly isCounted: ((slot: number) => boolean) | undefined;
}

export type Rule = Pick<
  TopologySpreadConstraint,
  "topologyKey" | "maxSkew" | "minDomains" | "nodeAffinityPolicy" | "nodeTaintsPolicy"
>;

/** Which pods a rule counts. */
export interface Selected {
  readonly set: PodSet;
  /** Whether the selection contains the labels. */
  has(labels: Readonly<Record<string, string>>): boolean;
}

export const spreadOf = (rule: Rule, selected: Selected, pod: Pod, topology: Topology): Spread => ({
  domains: topology.domains(rule.topologyKey),
  maxSkew: rule.maxSkew,
  minDomains: rule.minDomains ?? 1,
  counts: topology.counts(selected.set),
  sums: topology.sums(selected.set, rule.topologyKey),
  countsItself: selected.has(pod.metadata.labels ?? {}),
  isCounted: countedNodes(rule, pod, topology),
});

const known = new BoundedCache<Selected>({ entries: 4096, chars: 8 << 20, keyChars: 64 << 10 });

/** The pods of a namespace that the selector of a rule selects. */
export function selectedBy({ labelSelector }: TopologySpreadConstraint, namespace: string): Selected {
  // Without a selector no pod counts, and an empty one selects the new pod but counts no other: upstream's rules.
  const countsNone = !labelSelector || isEmptySelector(labelSelector);
  const key = JSON.stringify([namespace, labelSelector]);
  return remember(key, () => selectedPods(key, namespace, labelSelector && requirementsOf(labelSelector), countsNone));
}

/** The pods of a namespace that meet all requirements. */
export function selectedByAll(requirements: readonly Requirement[], namespace: string): Selected {
  const last = lastOf.get(requirements);
  if (last?.namespace === namespace) return last.selected;
  const key = JSON.stringify([namespace, requirements]);
  const selected = remember(key, () => selectedPods(key, namespace, requirements, false));
  lastOf.set(requirements, { namespace, selected });
  return selected;
}
/** The pods of one controller share their requirements. */
const lastOf = new WeakMap<readonly Requirement[], { readonly namespace: string; readonly selected: Selected }>();

function remember(key: string, compile: () => Selected): Selected {
  const found = known.get(key);
  if (found) return found;
  const selected = compile();
  known.set(key, selected, key.length);
  return selected;
}

/** Pods that end do not count. */
function selectedPods(
  key: string,
  namespace: string,
  requirements: readonly Requirement[] | undefined,
  countsNone: boolean,
): Selected {
  const matcher = requirements && labelMatcher(requirements);
  const has = (labels: Readonly<Record<string, string>>): boolean => matcher?.(labels) ?? false;
  const isCounted = ({ metadata }: Pod): boolean =>
    metadata.namespace === namespace && metadata.deletionTimestamp === undefined && has(metadata.labels ?? {});
  return { set: { key: `spread ${key}`, has: (pod) => !countsNone && isCounted(pod) }, has };
}

function countedNodes(rule: Rule, pod: Pod, topology: Topology): Spread["isCounted"] {
  const { nodeSelector, affinity, tolerations } = pod.spec;
  const byAffinity = rule.nodeAffinityPolicy !== "Ignore" && (nodeSelector || requiredTerms(pod));
  const byTaints = rule.nodeTaintsPolicy === "Honor";
  if (!byAffinity && !byTaints) return undefined;
  const wanted = byAffinity ? [nodeSelector, affinity?.nodeAffinity] : [];
  const key = JSON.stringify([wanted, byTaints ? (tolerations ?? []) : null]);
  const nodes = topology.nodesIn(
    key,
    (node) => (!byAffinity || matchesRequired(pod, node)) && (!byTaints || toleratesNode(tolerations, node)),
  );
  return (slot) => nodes[slot] === 1;
}

/** Whether the node has the labels of all rules. */
export function hasAllLabels(spreads: readonly Spread[], slot: number): boolean {
  for (const { domains } of spreads) if (domains.at(slot) === noDomain) return false;
  return true;
}

/** Whether every node has the labels of all rules, so that no node has to be left out because of them. */
export const areComplete = (spreads: readonly Spread[]): boolean => spreads.every(({ domains }) => domains.isComplete);
