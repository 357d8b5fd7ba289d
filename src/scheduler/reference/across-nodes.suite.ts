import { type Node } from "#api/core/node.ts";
import { matchesRequired } from "#api/core/node-match.ts";
import { type PodAffinityTerm, type TopologySpreadConstraint } from "#api/core/pod/affinity.ts";
import { tolerates } from "#api/core/pod/tolerations.ts";
import { type Pod } from "#api/core/pod.ts";
import { isEmptySelector } from "#api/meta/label-selector.ts";
import { matches } from "#api/meta/selector-matchers.ts";

/**
 * The rules about pods on other nodes, written down as plainly as possible and computed from nothing each time. Slow: only
 * tests compare the plugins with it.
 */
export interface World {
  readonly nodes: readonly Node[];
  readonly pods: readonly Pod[];
  readonly namespaceLabels: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

const labelOf = (node: Node, key: string): string | undefined => node.metadata.labels?.[key];
const podsOn = ({ pods }: World, node: Node): Pod[] => pods.filter(({ spec }) => spec.nodeName === node.metadata.name);
const podsNear = (world: World, node: Node, key: string): Pod[] =>
  world.nodes
    .filter((other) => labelOf(other, key) !== undefined && labelOf(other, key) === labelOf(node, key))
    .flatMap((other) => podsOn(world, other));

function isIn(world: World, term: PodAffinityTerm, owner: Pod, pod: Pod): boolean {
  const { labelSelector, namespaces = [], namespaceSelector } = term;
  const { namespace } = pod.metadata;
  const isOwn = namespaces.length === 0 && !namespaceSelector && namespace === owner.metadata.namespace;
  const isSelected = namespaceSelector !== undefined && matches(namespaceSelector, world.namespaceLabels[namespace]);
  const isPlace = isOwn || namespaces.includes(namespace) || isSelected;
  return isPlace && labelSelector !== undefined && matches(labelSelector, pod.metadata.labels);
}

const nearTerms = ({ spec }: Pod) => spec.affinity?.podAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
const apartTerms = ({ spec }: Pod) =>
  spec.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
const preferredTerms = ({ spec }: Pod) => [
  ...(spec.affinity?.podAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []),
  ...(spec.affinity?.podAntiAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map((weighted) => ({
    ...weighted,
    weight: -weighted.weight,
  })),
];

/** The reason why the node is rejected; undefined if it fits. */
export function affinityReason(world: World, pod: Pod, node: Node): string | undefined {
  const near = nearTerms(pod);
  const isMate = (other: Pod) => near.every((term) => isIn(world, term, pod, other));
  const hasMates = near.some(({ topologyKey }) =>
    world.nodes.some((other) => labelOf(other, topologyKey) !== undefined && podsOn(world, other).some(isMate)),
  );
  const isAlone = !hasMates && isMate(pod);
  const isNear = near.every(
    ({ topologyKey }) =>
      labelOf(node, topologyKey) !== undefined && (isAlone || podsNear(world, node, topologyKey).some(isMate)),
  );
  if (!isNear) return "node(s) didn't match pod affinity rules";
  const isHated = apartTerms(pod).some((term) =>
    podsNear(world, node, term.topologyKey).some((other) => isIn(world, term, pod, other)),
  );
  if (isHated) return "node(s) didn't match pod anti-affinity rules";
  const isUnwanted = world.pods.some((other) =>
    apartTerms(other).some(
      (term) => isIn(world, term, other, pod) && podsNear(world, node, term.topologyKey).includes(other),
    ),
  );
  return isUnwanted ? "node(s) didn't satisfy existing pods anti-affinity rules" : undefined;
}

export function affinityScores(world: World, pod: Pod, nodes: readonly Node[]): number[] {
  const raw = nodes.map((node) => {
    let sum = 0;
    for (const { weight, podAffinityTerm: term } of preferredTerms(pod)) {
      for (const other of podsNear(world, node, term.topologyKey)) if (isIn(world, term, pod, other)) sum += weight;
    }
    for (const other of world.pods) {
      const required = nearTerms(other).map((podAffinityTerm) => ({ weight: 1, podAffinityTerm }));
      for (const { weight, podAffinityTerm: term } of [...required, ...preferredTerms(other)]) {
        if (isIn(world, term, other, pod) && podsNear(world, node, term.topologyKey).includes(other)) sum += weight;
      }
    }
    return sum;
  });
  const [smallest, largest] = [Math.min(...raw), Math.max(...raw)];
  return raw.map((sum) => (largest > smallest ? Math.trunc(100 * ((sum - smallest) / (largest - smallest))) : 0));
}

const rulesOf = ({ spec }: Pod, action: string): TopologySpreadConstraint[] =>
  (spec.topologySpreadConstraints ?? []).filter(({ whenUnsatisfiable }) => whenUnsatisfiable === action);
const hasLabels = (rules: readonly TopologySpreadConstraint[], node: Node): boolean =>
  rules.every(({ topologyKey }) => labelOf(node, topologyKey) !== undefined);

function countsNode(rule: TopologySpreadConstraint, pod: Pod, node: Node): boolean {
  const taints = (node.spec?.taints ?? []).filter(({ effect }) => effect !== "PreferNoSchedule");
  if (rule.nodeAffinityPolicy !== "Ignore" && !matchesRequired(pod, node)) return false;
  return rule.nodeTaintsPolicy !== "Honor" || taints.every((taint) => tolerates(pod.spec.tolerations, taint));
}

const countOn = (world: World, { labelSelector }: TopologySpreadConstraint, pod: Pod, node: Node): number =>
  podsOn(world, node).filter(
    ({ metadata }) =>
      metadata.namespace === pod.metadata.namespace &&
      metadata.deletionTimestamp === undefined &&
      labelSelector !== undefined &&
      !isEmptySelector(labelSelector) &&
      matches(labelSelector, metadata.labels),
  ).length;

export function spreadReason(world: World, pod: Pod, node: Node): string | undefined {
  const rules = rulesOf(pod, "DoNotSchedule");
  for (const rule of rules) {
    const value = labelOf(node, rule.topologyKey);
    if (value === undefined) return "node(s) didn't match pod topology spread constraints (missing required label)";
    const sums = new Map<string, number>();
    for (const other of world.nodes.filter((other) => hasLabels(rules, other) && countsNode(rule, pod, other))) {
      const domain = labelOf(other, rule.topologyKey) ?? "";
      sums.set(domain, (sums.get(domain) ?? 0) + countOn(world, rule, pod, other));
    }
    const least = sums.size < (rule.minDomains ?? 1) ? 0 : Math.min(...sums.values());
    const itself = rule.labelSelector !== undefined && matches(rule.labelSelector, pod.metadata.labels) ? 1 : 0;
    const skew = (sums.get(value) ?? 0) + itself - least;
    if (skew > rule.maxSkew) return "node(s) didn't match pod topology spread constraints";
  }
  return undefined;
}

export function spreadScores(world: World, pod: Pod, nodes: readonly Node[]): number[] {
  const rules = rulesOf(pod, "ScheduleAnyway");
  if (rules.length === 0) return nodes.map(() => 0);
  const scored = nodes.filter((node) => hasLabels(rules, node));
  const raw = nodes.map((node) => {
    if (!scored.includes(node)) return undefined;
    let sum = 0;
    for (const rule of rules) {
      const isHost = rule.topologyKey === "kubernetes.io/hostname";
      const values = new Set(scored.map((each) => labelOf(each, rule.topologyKey)));
      const near = world.nodes.filter(
        (other) =>
          hasLabels(rules, other) &&
          countsNode(rule, pod, other) &&
          labelOf(other, rule.topologyKey) === labelOf(node, rule.topologyKey),
      );
      const counted = isHost ? [node] : near;
      const pods = counted.reduce((total, other) => total + countOn(world, rule, pod, other), 0);
      sum += pods * Math.log((isHost ? scored.length : values.size) + 2) + rule.maxSkew - 1;
    }
    return Math.round(sum);
  });
  const known = raw.filter((score) => score !== undefined);
  const [smallest, largest] = [Math.min(...known), Math.max(0, ...known)];
  return raw.map((score) => {
    if (score === undefined) return 0;
    return largest === 0 ? 100 : Math.trunc((100 * (largest + smallest - score)) / largest);
  });
}
