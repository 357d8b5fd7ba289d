import { NodeAffinity, TopologySpreadConstraint } from "#api/core/pod/affinity.ts";
import { defaulted, nullable, optional, present } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { boolean, duration, int32, int64, list, string } from "#schema/types.ts";

/** The arguments of plugins, as upstream's KubeSchedulerConfiguration v1 has them. */

const object = inPackage("kubescheduler.config.k8s.io/v1");

const typed = {
  apiVersion: optional(1, string(), "Version of these arguments."),
  kind: optional(2, string(), "Name of the plugin, followed by Args."),
} as const;

const ResourceSpec = object("ResourceSpec", "A resource that counts for the score of a node.", {
  name: present(1, string(), "Name of the resource."),
  weight: optional(2, int64(), "How much it counts, from 1 to 100; 1 by default."),
});
export interface ResourceSpec extends Infer<typeof ResourceSpec> {}

const ShapePoint = object("UtilizationShapePoint", "A point of the function from utilization to score.", {
  utilization: present(1, int32(), "Per cent of the resource that is requested."),
  score: present(2, int32(), "Score of a node with this utilization, from 0 to 10."),
});
export interface ShapePoint extends Infer<typeof ShapePoint> {}

const ScoringStrategy = object("ScoringStrategy", "How nodes are scored by what is free on them.", {
  type: optional(1, string(), "LeastAllocated, MostAllocated or RequestedToCapacityRatio."),
  resources: optional(2, list(ResourceSpec), "Resources that count; cpu and memory by default."),
  requestedToCapacityRatio: object.nullable(3, "RequestedToCapacityRatioParam", "For RequestedToCapacityRatio.", {
    shape: optional(1, list(ShapePoint), "Points of the function, by utilization."),
  }),
});
export interface ScoringStrategy extends Infer<typeof ScoringStrategy> {}

export const NodeResourcesFitArgs = object("NodeResourcesFitArgs", "Arguments of NodeResourcesFit.", {
  ...typed,
  ignoredResources: optional(3, list(string()), "Resources that need not be free."),
  ignoredResourceGroups: optional(4, list(string()), "Groups of such resources: the part of a name before the slash."),
  scoringStrategy: nullable(5, ScoringStrategy, "How nodes are scored; LeastAllocated by default."),
});
export interface NodeResourcesFitArgs extends Infer<typeof NodeResourcesFitArgs> {}

export const NodeResourcesBalancedAllocationArgs = object("NodeResourcesBalancedAllocationArgs", "Arguments.", {
  ...typed,
  resources: optional(3, list(ResourceSpec), "Resources to balance; cpu and memory by default."),
});
export interface BalancedAllocationArgs extends Infer<typeof NodeResourcesBalancedAllocationArgs> {}

export const InterPodAffinityArgs = object("InterPodAffinityArgs", "Arguments of InterPodAffinity.", {
  ...typed,
  hardPodAffinityWeight: defaulted(3, int32(), 1, "What required affinity of pods on nodes adds to a score."),
  ignorePreferredTermsOfExistingPods: optional(
    4,
    boolean(),
    "Whether rules of pods on nodes count only for pods that have preferences of their own.",
  ),
});
export interface InterPodAffinityArgs extends Infer<typeof InterPodAffinityArgs> {}

export const PodTopologySpreadArgs = object("PodTopologySpreadArgs", "Arguments of PodTopologySpread.", {
  ...typed,
  defaultConstraints: optional(3, list(TopologySpreadConstraint), "Rules for pods that have none."),
  defaultingType: defaulted(4, string(), "System", "System: upstream's rules. List: those of defaultConstraints."),
});
export interface PodTopologySpreadArgs extends Infer<typeof PodTopologySpreadArgs> {}

export const NodeAffinityArgs = object("NodeAffinityArgs", "Arguments of NodeAffinity.", {
  ...typed,
  addedAffinity: nullable(3, NodeAffinity, "Applies to all pods, besides their own."),
});
export interface NodeAffinityArgs extends Infer<typeof NodeAffinityArgs> {}

export const VolumeBindingArgs = object("VolumeBindingArgs", "Arguments of VolumeBinding.", {
  ...typed,
  bindTimeoutSeconds: defaulted(3, int64(), 600, "How long a pod waits for its volumes."),
  shape: optional(4, list(ShapePoint), "Of a feature that is off: must be absent."),
});
export interface VolumeBindingArgs extends Infer<typeof VolumeBindingArgs> {}

export const DynamicResourcesArgs = object("DynamicResourcesArgs", "Arguments of DynamicResources.", {
  ...typed,
  filterTimeout: defaulted(
    3,
    duration(),
    "10s",
    "How long devices are looked for on one node, at most. 0s leaves the built-in limit.",
  ),
  bindingTimeout: defaulted(4, duration(), "10m", "How long a pod waits for its devices to become ready."),
});
export interface DynamicResourcesArgs extends Infer<typeof DynamicResourcesArgs> {}

export const DefaultPreemptionArgs = object("DefaultPreemptionArgs", "Arguments of DefaultPreemption.", {
  ...typed,
  minCandidateNodesPercentage: defaulted(3, int32(), 10, "Share of the nodes that is looked at, in per cent."),
  minCandidateNodesAbsolute: defaulted(4, int32(), 100, "How many nodes are looked at, at least."),
});
export interface DefaultPreemptionArgs extends Infer<typeof DefaultPreemptionArgs> {}

export const CoschedulingArgs = object("CoschedulingArgs", "Arguments of Coscheduling.", {
  ...typed,
  permitWaitingTimeSeconds: defaulted(3, int64(), 60, "How long pods of a group that have a node wait for the others."),
});
export interface CoschedulingArgs extends Infer<typeof CoschedulingArgs> {}

/** Arguments by the name of the plugin. What is absent has its defaults. */
export interface PluginArgs {
  readonly NodeResourcesFit?: NodeResourcesFitArgs;
  readonly NodeResourcesBalancedAllocation?: BalancedAllocationArgs;
  readonly InterPodAffinity?: InterPodAffinityArgs;
  readonly PodTopologySpread?: PodTopologySpreadArgs;
  readonly NodeAffinity?: NodeAffinityArgs;
  readonly VolumeBinding?: VolumeBindingArgs;
  readonly DynamicResources?: DynamicResourcesArgs;
  readonly DefaultPreemption?: DefaultPreemptionArgs;
  readonly Coscheduling?: CoschedulingArgs;
}
