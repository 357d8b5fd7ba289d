import { type TopologySpreadConstraint } from "#api/core/pod/affinity.ts";
import { type Pod } from "#api/core/pod.ts";
import { type NodeChange, type PodChange, type SchedulerPlugin } from "../../framework.ts";
import { type Snapshot } from "../../snapshot.ts";
import { type Rule, type Spread, selectedBy, selectedByAll, spreadOf } from "./constraints.ts";
import { type FindPeers } from "./default-selector.ts";
import { spreadFilter } from "./filter.ts";
import { spreadScore } from "./score.ts";

/** For pods without rules of their own: pods that belong together are spread over nodes and zones, if possible. */
const defaultRules: readonly Rule[] = [
  { topologyKey: "kubernetes.io/hostname", maxSkew: 3 },
  { topologyKey: "topology.kubernetes.io/zone", maxSkew: 5 },
];

/** Honours the pod's topology spread constraints, required and preferred. */
export const podTopologySpread = (peersOf: FindPeers): SchedulerPlugin => ({
  name: "PodTopologySpread",
  weight: 2,
  retryOn: { node: nodeMayHelp, otherPod: podMayHelp },

  acrossNodes(pod, snapshot) {
    const required = ownSpreads(pod, snapshot, "DoNotSchedule");
    const preferred = ownSpreads(pod, snapshot, "ScheduleAnyway");
    const hasOwn = rulesOf(pod).length > 0;
    const scored = hasOwn ? preferred : defaultSpreads(pod, snapshot, peersOf);
    if (required.length === 0 && scored.length === 0) return undefined;
    return {
      filter: required.length > 0 ? spreadFilter(required, snapshot) : undefined,
      score: scored.length > 0 ? spreadScore(scored, snapshot, hasOwn) : undefined,
    };
  },
});

const none: readonly TopologySpreadConstraint[] = [];
const rulesOf = ({ spec }: Pod): readonly TopologySpreadConstraint[] => spec.topologySpreadConstraints ?? none;

function ownSpreads(pod: Pod, { topology }: Snapshot, action: string): Spread[] {
  return rulesOf(pod)
    .filter(({ whenUnsatisfiable }) => whenUnsatisfiable === action)
    .map((rule) => spreadOf(rule, selectedBy(rule, pod.metadata.namespace), pod, topology));
}

function defaultSpreads(pod: Pod, { topology }: Snapshot, peersOf: FindPeers): Spread[] {
  const requirements = peersOf(pod);
  if (requirements.length === 0) return [];
  const selected = selectedByAll(requirements, pod.metadata.namespace);
  return defaultRules.map((rule) => spreadOf(rule, selected, pod, topology));
}

/** A node joins the domains, or leaves them. */
function nodeMayHelp(pod: Pod, { object, previous, change }: NodeChange): boolean {
  const keys = rulesOf(pod)
    .filter(({ whenUnsatisfiable }) => whenUnsatisfiable === "DoNotSchedule")
    .map(({ topologyKey }) => topologyKey);
  const hasAll = (labels: Readonly<Record<string, string>> = {}) => keys.every((key) => Object.hasOwn(labels, key));
  const isIn = hasAll(object.metadata.labels);
  if (change !== "updated" || !previous) return isIn;
  const wasIn = hasAll(previous.metadata.labels);
  const moved = keys.some((key) => object.metadata.labels?.[key] !== previous.metadata.labels?.[key]);
  return isIn !== wasIn || (isIn && (moved || object.spec?.taints !== previous.spec?.taints));
}

/** A pod that is counted comes, goes, or is counted no longer. */
function podMayHelp(pod: Pod, { object, previous, change }: PodChange): boolean {
  const { namespace } = pod.metadata;
  if (object.metadata.namespace !== namespace) return false;
  return rulesOf(pod).some((rule) => {
    const { has } = selectedBy(rule, namespace);
    const counts = has(object.metadata.labels ?? {});
    if (change !== "updated" || !previous) return counts;
    return counts !== has(previous.metadata.labels ?? {}) || (counts && endsNow(object, previous));
  });
}

const endsNow = ({ metadata }: Pod, before: Pod): boolean =>
  metadata.deletionTimestamp !== undefined && before.metadata.deletionTimestamp === undefined;
