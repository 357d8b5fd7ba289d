import { type TopologySpreadConstraint } from "#api/core/pod/affinity.ts";
import { type Pod } from "#api/core/pod.ts";
import { type PodTopologySpreadArgs } from "../../args/plugin-args.ts";
import { type NodeChange, type PodChange, type SchedulerPlugin } from "../../framework.ts";
import { type Snapshot } from "../../snapshot.ts";
import { type Rule, type Selected, type Spread, selectedBy, selectedByAll, spreadOf } from "./constraints.ts";
import { type FindPeers } from "./default-selector.ts";
import { spreadFilter } from "./filter.ts";
import { spreadScore } from "./score.ts";

/** For pods without rules of their own: pods that belong together are spread over nodes and zones, if possible. */
const systemRules: readonly DefaultRule[] = [
  { topologyKey: "kubernetes.io/hostname", maxSkew: 3, whenUnsatisfiable: "ScheduleAnyway" },
  { topologyKey: "topology.kubernetes.io/zone", maxSkew: 5, whenUnsatisfiable: "ScheduleAnyway" },
];
type DefaultRule = Rule & Pick<TopologySpreadConstraint, "whenUnsatisfiable">;

/** Honours the pod's topology spread constraints, required and preferred. */
export function podTopologySpread(peersOf: FindPeers, args?: PodTopologySpreadArgs): SchedulerPlugin {
  const isSystem = args?.defaultingType !== "List";
  const defaults = isSystem ? systemRules : (args.defaultConstraints ?? []);
  return {
    name: "PodTopologySpread",
    weight: 2,
    retryOn: {
      node: (pod, change) => nodeMayHelp(requiredRules(pod, defaults), change),
      otherPod: (pod, change) => podMayHelp(pod, change, peersOf, defaults),
    },

    acrossNodes(pod, snapshot) {
      const hasOwn = rulesOf(pod).length > 0;
      const byDefault = hasOwn ? noSpreads : defaultSpreads(pod, snapshot, peersOf, defaults);
      const required = hasOwn ? ownSpreads(pod, snapshot, "DoNotSchedule") : byDefault.required;
      const scored = hasOwn ? ownSpreads(pod, snapshot, "ScheduleAnyway") : byDefault.scored;
      if (required.length === 0 && scored.length === 0) return undefined;
      return {
        ...(required.length > 0 ? spreadFilter(required, snapshot) : { filter: undefined }),
        score: scored.length > 0 ? spreadScore(scored, snapshot, hasOwn || !isSystem) : undefined,
      };
    },
  };
}

const none: readonly TopologySpreadConstraint[] = [];
const rulesOf = ({ spec }: Pod): readonly TopologySpreadConstraint[] => spec.topologySpreadConstraints ?? none;

function ownSpreads(pod: Pod, { topology }: Snapshot, action: string): Spread[] {
  return rulesOf(pod)
    .filter(({ whenUnsatisfiable }) => whenUnsatisfiable === action)
    .map((rule) => spreadOf(rule, selectedBy(rule, pod.metadata.namespace), pod, topology));
}

interface DefaultSpreads {
  readonly required: readonly Spread[];
  readonly scored: readonly Spread[];
}
const noSpreads: DefaultSpreads = { required: [], scored: [] };

function defaultSpreads(
  pod: Pod,
  { topology }: Snapshot,
  peersOf: FindPeers,
  rules: readonly DefaultRule[],
): DefaultSpreads {
  const requirements = rules.length > 0 ? peersOf(pod) : [];
  if (requirements.length === 0) return noSpreads;
  const selected = selectedByAll(requirements, pod.metadata.namespace);
  const spreads = (action: string) =>
    rules
      .filter(({ whenUnsatisfiable }) => whenUnsatisfiable === action)
      .map((rule) => spreadOf(rule, selected, pod, topology));
  return { required: spreads("DoNotSchedule"), scored: spreads("ScheduleAnyway") };
}

/** The rules by which nodes are rejected for the pod. */
const requiredRules = (pod: Pod, defaults: readonly DefaultRule[]): readonly DefaultRule[] =>
  (rulesOf(pod).length > 0 ? rulesOf(pod) : defaults).filter(
    ({ whenUnsatisfiable }) => whenUnsatisfiable === "DoNotSchedule",
  );

/** A node joins the domains, or leaves them. */
function nodeMayHelp(rules: readonly DefaultRule[], { object, previous, change }: NodeChange): boolean {
  const keys = rules.map(({ topologyKey }) => topologyKey);
  const hasAll = (labels: Readonly<Record<string, string>> = {}) => keys.every((key) => Object.hasOwn(labels, key));
  const isIn = hasAll(object.metadata.labels);
  if (change !== "updated" || !previous) return isIn;
  const wasIn = hasAll(previous.metadata.labels);
  const moved = keys.some((key) => object.metadata.labels?.[key] !== previous.metadata.labels?.[key]);
  return isIn !== wasIn || (isIn && (moved || object.spec?.taints !== previous.spec?.taints));
}

/** A pod that is counted comes, goes, or is counted no longer. */
function podMayHelp(
  pod: Pod,
  { object, previous, change }: PodChange,
  peersOf: FindPeers,
  defaults: readonly DefaultRule[],
): boolean {
  const { namespace } = pod.metadata;
  if (object.metadata.namespace !== namespace) return false;
  const helps = ({ has }: Selected): boolean => {
    const counts = has(object.metadata.labels ?? {});
    if (change !== "updated" || !previous) return counts;
    return counts !== has(previous.metadata.labels ?? {}) || (counts && endsNow(object, previous));
  };
  if (rulesOf(pod).length > 0) return rulesOf(pod).some((rule) => helps(selectedBy(rule, namespace)));
  return requiredRules(pod, defaults).length > 0 && helps(selectedByAll(peersOf(pod), namespace));
}

const endsNow = ({ metadata }: Pod, before: Pod): boolean =>
  metadata.deletionTimestamp !== undefined && before.metadata.deletionTimestamp === undefined;
