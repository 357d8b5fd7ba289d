import { type Pod } from "#api/core/pod.ts";
import { type InterPodAffinityArgs } from "../../args/plugin-args.ts";
import { type NodeChange, type PodChange, type SchedulerPlugin } from "../../framework.ts";
import { matchesAll, matchesAny, type NamespaceLabels } from "../../topology/affinity-term.ts";
import { podTermsOf } from "../../topology/pod-terms.ts";
import { affinityFilter } from "./filter.ts";
import { affinityScore } from "./score.ts";

/** Honours affinity and anti-affinity between pods, required and preferred, of the new pod and of those on nodes. */
export function interPodAffinity(namespaceLabels: NamespaceLabels, args?: InterPodAffinityArgs): SchedulerPlugin {
  const { hardPodAffinityWeight = 1, ignorePreferredTermsOfExistingPods = false } = args ?? {};
  const preferences = { namespaceLabels, hardPodAffinityWeight, ignorePreferredTermsOfExistingPods };
  return {
    name: "InterPodAffinity",
    weight: 2,
    retryOn: { node: nodeMayHelp, otherPod: (pod, change) => podMayHelp(pod, change, namespaceLabels) },

    acrossNodes(pod, { topology }) {
      const terms = podTermsOf(pod);
      const filters = affinityFilter(pod, terms, topology, namespaceLabels);
      const score = affinityScore(pod, terms, topology, preferences);
      return filters || score ? { filter: undefined, ...filters, score } : undefined;
    },
  };
}

/** A node comes into a domain, or leaves one. */
function nodeMayHelp(pod: Pod, { object, previous, change }: NodeChange): boolean {
  if (change === "deleted") return false;
  const { near, apart } = podTermsOf(pod);
  if (!previous)
    return apart.length > 0 || near.length === 0 || near.some(({ topologyKey }) => has(object, topologyKey));
  const isMoved = (key: string) => object.metadata.labels?.[key] !== previous.metadata.labels?.[key];
  return (
    near.some(({ topologyKey: key }) => has(object, key) && isMoved(key)) ||
    apart.some(({ topologyKey: key }) => has(previous, key) && isMoved(key))
  );
}

const has = ({ metadata }: NodeChange["object"], key: string): boolean => Object.hasOwn(metadata.labels ?? {}, key);

/** A pod that this one wants to be near comes, or one that keeps it away goes. */
function podMayHelp(pod: Pod, { object, previous, change }: PodChange, namespaceLabels: NamespaceLabels): boolean {
  const { near, apart } = podTermsOf(pod);
  const isWanted = (other: Pod) => matchesAll(near, other, namespaceLabels);
  const isHated = (other: Pod) => matchesAny(apart, other, namespaceLabels);
  if (change === "created") return isWanted(object);
  if (change === "updated") {
    if (!previous) return false;
    return (!isWanted(previous) && isWanted(object)) || (isHated(previous) && !isHated(object));
  }
  return isHated(object) || matchesAny(podTermsOf(object).apart, pod, namespaceLabels);
}
