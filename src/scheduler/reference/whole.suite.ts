import { type Node } from "#api/core/node.ts";
import { type Pod } from "#api/core/pod.ts";
import { matches } from "#api/meta/selector-matchers.ts";
import { type PodDisruptionBudget } from "#api/policy/pod-disruption-budget.ts";
import { affinityReason, affinityScores, spreadReason, spreadScores, type World } from "./across-nodes.suite.ts";
import { nodeReason, nodeScores, type Reason } from "./nodes.suite.ts";

/** A whole decision and the choice of victims, from nothing each time. Only tests use it. */

const label = "(missing required label)";
const near = "node(s) didn't match pod affinity rules";

/** The first rule of all that rejects the node. */
export function reasonOf(world: World, pod: Pod, node: Node): Reason | undefined {
  const own = nodeReason(world, pod, node);
  if (own) return own;
  const spread = spreadReason(world, pod, node);
  if (spread) return { plugin: "PodTopologySpread", reasons: [spread], isFinal: spread.endsWith(label) };
  const affinity = affinityReason(world, pod, node);
  return affinity ? { plugin: "InterPodAffinity", reasons: [affinity], isFinal: affinity === near } : undefined;
}

/** A pod that waits for room on a node. */
export interface Waiting {
  readonly pod: Pod;
  readonly node: string;
}

const priorityOf = ({ spec }: Pod): number => spec.priority ?? 0;
const on = (pod: Pod, nodeName: string): Pod => ({ ...pod, spec: { ...pod.spec, nodeName } });

/** Whether the pod fits, and would also fit if those at least as important that wait for this node were there. */
export function reasonBeside(world: World, pod: Pod, node: Node, waiting: readonly Waiting[]): Reason | undefined {
  const { name } = node.metadata;
  const rivals = waiting.filter((other) => other.node === name && priorityOf(other.pod) >= priorityOf(pod));
  const withRivals = { ...world, pods: [...world.pods, ...rivals.map((rival) => on(rival.pod, name))] };
  return reasonOf(world, pod, node) ?? reasonOf(withRivals, pod, node);
}

/** The total scores of the nodes that fit. */
export function totalsOf(world: World, pod: Pod, nodes: readonly Node[]): number[] {
  const spread = spreadScores(world, pod, nodes);
  const affinity = affinityScores(world, pod, nodes);
  return nodeScores(world, pod, nodes).map((own, at) => own + 2 * (spread[at] ?? 0) + 2 * (affinity[at] ?? 0));
}

/** The pods that have to end on a node, the most important first. */
export interface Ending {
  readonly node: string;
  readonly victims: readonly Pod[];
  readonly broken: number;
}

const startOf = ({ status }: Pod): number => Date.parse(status?.startTime ?? "");
const byImportance = (a: Pod, b: Pod): number => priorityOf(b) - priorityOf(a) || startOf(a) - startOf(b);

/** The pods whose end would break a budget. One that ends anyway breaks none. */
function breakingOf(pods: readonly Pod[], { budgets, chosen }: Cluster): Pod[] {
  const left = new Map(budgets.map((budget) => [budget, budget.status?.disruptionsAllowed ?? 0]));
  return pods.filter(({ metadata }) => {
    if (metadata.deletionTimestamp !== undefined || chosen?.has(metadata.name)) return false;
    const around = budgets.filter(
      ({ metadata: { namespace }, spec }) =>
        namespace === metadata.namespace && metadata.labels && matches(spec?.selector ?? {}, metadata.labels),
    );
    for (const budget of around) left.set(budget, (left.get(budget) ?? 0) - 1);
    return around.some((budget) => (left.get(budget) ?? 0) < 0);
  });
}

export interface Cluster {
  readonly world: World;
  readonly waiting: readonly Waiting[];
  readonly budgets: readonly PodDisruptionBudget[];
  /** Names of pods whose end has been decided. The budgets count it. */
  readonly chosen?: ReadonlySet<string>;
}

function endingOn(cluster: Cluster, pod: Pod, node: Node): Ending | undefined {
  const { world, waiting } = cluster;
  const first = reasonBeside(world, pod, node, waiting);
  if (!first || first.isFinal) return undefined;
  const isLower = ({ spec, ...other }: Pod): boolean =>
    spec.nodeName === node.metadata.name && priorityOf({ spec, ...other }) < priorityOf(pod);
  const lower = world.pods.filter(isLower).sort(byImportance);
  const fitsWithout = (gone: readonly Pod[]): boolean => {
    const rest = { ...world, pods: world.pods.filter((other) => !gone.includes(other)) };
    return reasonBeside(rest, pod, node, waiting) === undefined;
  };
  if (lower.length === 0 || !fitsWithout(lower)) return undefined;
  const breaking = breakingOf(lower, cluster);
  let gone: readonly Pod[] = lower;
  for (const spared of [...breaking, ...lower.filter((other) => !breaking.includes(other))]) {
    const fewer = gone.filter((other) => other !== spared);
    if (fitsWithout(fewer)) gone = fewer;
  }
  const broken = gone.filter((other) => breaking.includes(other)).length;
  return gone.length > 0 ? { node: node.metadata.name, victims: gone, broken } : undefined;
}

const criteria: readonly ((ending: Ending) => number)[] = [
  ({ broken }) => broken,
  ({ victims }) => Math.max(...victims.map(priorityOf)),
  ({ victims }) => victims.reduce((sum, pod) => sum + priorityOf(pod) + 2 ** 31, 0),
  ({ victims }) => victims.length,
  ({ victims }) => {
    const highest = Math.max(...victims.map(priorityOf));
    return -Math.min(...victims.filter((pod) => priorityOf(pod) === highest).map(startOf));
  },
];

/** The best nodes to make room on, all equally good; none if it is not possible. */
export function bestEndings(cluster: Cluster, pod: Pod): Ending[] {
  let best = cluster.world.nodes.flatMap((node) => endingOn(cluster, pod, node) ?? []);
  for (const criterion of criteria) {
    const least = Math.min(...best.map(criterion));
    best = best.filter((ending) => criterion(ending) === least);
  }
  return best;
}
