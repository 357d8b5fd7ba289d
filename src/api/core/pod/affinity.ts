import { LabelSelector } from "#api/meta/label-selector.ts";
import { nullable, optional, present, required } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { int32, int64, list, listedOneOf, oneOf, string } from "#schema/types.ts";

const object = inPackage("core/v1");

export const NodeSelectorRequirement = object("NodeSelectorRequirement", "A condition on a node's label or field.", {
  key: present(1, string(), "Name of the label or field."),
  operator: present(2, string(), "How key and values relate: In, NotIn, Exists, DoesNotExist, Gt or Lt."),
  values: optional(3, list(string()), "Values to compare with: none for Exists, one integer for Gt and Lt."),
});
export interface NodeSelectorRequirement extends Infer<typeof NodeSelectorRequirement> {}

export const NodeSelectorTerm = object.atomic("NodeSelectorTerm", "Conditions on a node, all of which must hold.", {
  matchExpressions: optional(1, list(NodeSelectorRequirement), "Conditions on labels."),
  matchFields: optional(2, list(NodeSelectorRequirement), "Conditions on fields; metadata.name is the only one."),
});
export interface NodeSelectorTerm extends Infer<typeof NodeSelectorTerm> {}

export const NodeSelector = object.atomic("NodeSelector", "Terms of which at least one must match the node.", {
  nodeSelectorTerms: present(1, list(NodeSelectorTerm), "The alternatives."),
});
export interface NodeSelector extends Infer<typeof NodeSelector> {}

export const PreferredSchedulingTerm = object("PreferredSchedulingTerm", "A preference with its weight.", {
  weight: present(1, int32(), "What a match is worth, from 1 to 100."),
  preference: required(2, NodeSelectorTerm, "The term."),
});

export const NodeAffinity = object("NodeAffinity", "Which nodes a pod must or should run on.", {
  requiredDuringSchedulingIgnoredDuringExecution: nullable(
    1,
    NodeSelector,
    "What a node must match when the pod is placed.",
  ),
  preferredDuringSchedulingIgnoredDuringExecution: optional(
    2,
    list(PreferredSchedulingTerm),
    "What makes a node the better choice.",
  ),
});
export interface NodeAffinity extends Infer<typeof NodeAffinity> {}

export const PodAffinityTerm = object("PodAffinityTerm", "A set of pods, and the topology that counts as near.", {
  labelSelector: nullable(1, LabelSelector, "Which pods are meant; absent means none."),
  namespaces: optional(2, list(string()), "Namespaces to look in; by default the pod's own."),
  topologyKey: present(3, string(), "Node label whose equal values make two nodes the same place."),
  namespaceSelector: nullable(4, LabelSelector, "Namespaces to look in, by label; an empty selector means all."),
  matchLabelKeys: optional(5, list(string()), "Labels whose values must be those of the incoming pod."),
  mismatchLabelKeys: optional(6, list(string()), "Labels whose values must differ from those of the pod."),
});
export interface PodAffinityTerm extends Infer<typeof PodAffinityTerm> {}

export const WeightedPodAffinityTerm = object("WeightedPodAffinityTerm", "A preference with its weight.", {
  weight: present(1, int32(), "What a match is worth, from 1 to 100."),
  podAffinityTerm: required(2, PodAffinityTerm, "The term."),
});

export const PodAffinity = object("PodAffinity", "Which pods a pod must or should be placed near to.", {
  requiredDuringSchedulingIgnoredDuringExecution: optional(
    1,
    list(PodAffinityTerm),
    "Pods that must be near when the pod is placed.",
  ),
  preferredDuringSchedulingIgnoredDuringExecution: optional(
    2,
    list(WeightedPodAffinityTerm),
    "Pods that make a place the better choice.",
  ),
});
export interface PodAffinity extends Infer<typeof PodAffinity> {}

export const PodAntiAffinity = object("PodAntiAffinity", "Which pods a pod must or should be placed away from.", {
  requiredDuringSchedulingIgnoredDuringExecution: optional(
    1,
    list(PodAffinityTerm),
    "Pods that must not be near when the pod is placed.",
  ),
  preferredDuringSchedulingIgnoredDuringExecution: optional(
    2,
    list(WeightedPodAffinityTerm),
    "Pods that make a place the worse choice.",
  ),
});

export const Affinity = object("Affinity", "Rules about where a pod is placed.", {
  nodeAffinity: nullable(1, NodeAffinity, "Rules about the node."),
  podAffinity: nullable(2, PodAffinity, "Rules about pods to be near to."),
  podAntiAffinity: nullable(3, PodAntiAffinity, "Rules about pods to be away from."),
});
export interface Affinity extends Infer<typeof Affinity> {}

export const Toleration = object("Toleration", "Lets a pod run on nodes that carry a matching taint.", {
  key: optional(1, string(), "Taint key to match; empty with Exists matches every taint."),
  operator: optional(2, string(), "How the value is compared: Equal (the default), Exists, Gt or Lt."),
  value: optional(3, string(), "Taint value to match."),
  effect: optional(4, listedOneOf("NoSchedule", "PreferNoSchedule", "NoExecute"), "Taint effect to match; empty: all."),
  tolerationSeconds: nullable(5, int64(), "Seconds the pod stays after a NoExecute taint appears; absent: forever."),
});
export interface Toleration extends Infer<typeof Toleration> {}

export const TopologySpreadConstraint = object("TopologySpreadConstraint", "How to spread pods over a topology.", {
  maxSkew: present(1, int32(), "By how much the number of pods may differ between two places."),
  topologyKey: present(2, string(), "Node label whose equal values make two nodes the same place."),
  whenUnsatisfiable: present(3, oneOf("DoNotSchedule", "ScheduleAnyway"), "What to do with a pod that does not fit."),
  labelSelector: nullable(4, LabelSelector, "The pods that are counted."),
  minDomains: nullable(5, int32(), "Minimum number of domains; with fewer, the global minimum counts as zero."),
  nodeAffinityPolicy: nullable(6, oneOf("Honor", "Ignore"), "Whether the pod's node affinity limits the nodes."),
  nodeTaintsPolicy: nullable(7, oneOf("Honor", "Ignore"), "Whether nodes with untolerated taints are left out."),
  matchLabelKeys: optional(8, list(string()), "Labels whose values must be those of the incoming pod."),
});
export interface TopologySpreadConstraint extends Infer<typeof TopologySpreadConstraint> {}
