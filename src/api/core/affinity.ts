import {
  type Infer,
  int32,
  int64,
  list,
  listedOneOf,
  nullable,
  object,
  oneOf,
  optional,
  present,
  required,
  string,
} from "#schema/schema.ts";
import { LabelSelector } from "../meta/label-selector.ts";

export const NodeSelectorRequirement = object(
  "core/v1.NodeSelectorRequirement",
  {
    key: present(1, string(), "Name of the label or field."),
    operator: present(2, string(), "How key and values relate: In, NotIn, Exists, DoesNotExist, Gt or Lt."),
    values: optional(
      3,
      list(string()),
      "What to compare with; none for Exists and DoesNotExist, one integer for Gt and Lt.",
    ),
  },
  { doc: "One condition on a label or field of a node." },
);
export interface NodeSelectorRequirement extends Infer<typeof NodeSelectorRequirement> {}

export const NodeSelectorTerm = object(
  "core/v1.NodeSelectorTerm",
  {
    matchExpressions: optional(1, list(NodeSelectorRequirement), "Conditions on labels."),
    matchFields: optional(2, list(NodeSelectorRequirement), "Conditions on fields; metadata.name is the only one."),
  },
  { atomic: true, doc: "Conditions on a node that must all hold; an empty term matches no node." },
);
export interface NodeSelectorTerm extends Infer<typeof NodeSelectorTerm> {}

export const NodeSelector = object(
  "core/v1.NodeSelector",
  { nodeSelectorTerms: present(1, list(NodeSelectorTerm), "The alternatives.") },
  { atomic: true, doc: "Terms of which at least one must match the node." },
);
export interface NodeSelector extends Infer<typeof NodeSelector> {}

export const PreferredSchedulingTerm = object(
  "core/v1.PreferredSchedulingTerm",
  {
    weight: present(1, int32(), "What a match is worth, from 1 to 100."),
    preference: required(2, NodeSelectorTerm, "The term."),
  },
  { doc: "A term that adds its weight to the nodes it matches." },
);
export interface PreferredSchedulingTerm extends Infer<typeof PreferredSchedulingTerm> {}

export const NodeAffinity = object(
  "core/v1.NodeAffinity",
  {
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
  },
  { doc: "Which nodes a pod must or should run on." },
);
export interface NodeAffinity extends Infer<typeof NodeAffinity> {}

export const PodAffinityTerm = object(
  "core/v1.PodAffinityTerm",
  {
    labelSelector: nullable(1, LabelSelector, "Which pods are meant; absent means none."),
    namespaces: optional(
      2,
      list(string()),
      "Namespaces to look in, by name; with namespaceSelector absent too, the pod's own.",
    ),
    topologyKey: present(3, string(), "Node label whose equal values make two nodes the same place."),
    namespaceSelector: nullable(4, LabelSelector, "Namespaces to look in, by label; an empty selector means all."),
    matchLabelKeys: optional(
      5,
      list(string()),
      "Labels of the incoming pod whose values the other pods must have as well.",
    ),
    mismatchLabelKeys: optional(
      6,
      list(string()),
      "Labels of the incoming pod whose values the other pods must not have.",
    ),
  },
  { doc: "A set of pods and the kind of place that is shared with, or kept away from, them." },
);
export interface PodAffinityTerm extends Infer<typeof PodAffinityTerm> {}

export const WeightedPodAffinityTerm = object(
  "core/v1.WeightedPodAffinityTerm",
  {
    weight: present(1, int32(), "What a match is worth, from 1 to 100."),
    podAffinityTerm: required(2, PodAffinityTerm, "The term."),
  },
  { doc: "A term that adds its weight to the nodes it matches." },
);
export interface WeightedPodAffinityTerm extends Infer<typeof WeightedPodAffinityTerm> {}

export const PodAffinity = object(
  "core/v1.PodAffinity",
  {
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
  },
  { doc: "Which pods a pod must or should be placed near to." },
);
export interface PodAffinity extends Infer<typeof PodAffinity> {}

export const PodAntiAffinity = object(
  "core/v1.PodAntiAffinity",
  {
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
  },
  { doc: "Which pods a pod must or should be placed away from." },
);
export interface PodAntiAffinity extends Infer<typeof PodAntiAffinity> {}

export const Affinity = object(
  "core/v1.Affinity",
  {
    nodeAffinity: nullable(1, NodeAffinity, "Rules about the node."),
    podAffinity: nullable(2, PodAffinity, "Rules about pods to be near to."),
    podAntiAffinity: nullable(3, PodAntiAffinity, "Rules about pods to be away from."),
  },
  { doc: "Rules about where a pod is placed." },
);
export interface Affinity extends Infer<typeof Affinity> {}

export const Toleration = object(
  "core/v1.Toleration",
  {
    key: optional(1, string(), "Taint key to match; empty with Exists matches every taint."),
    operator: optional(2, string(), "How the value is compared: Equal (the default), Exists, Gt or Lt."),
    value: optional(3, string(), "Taint value to match."),
    effect: optional(
      4,
      listedOneOf("NoSchedule", "PreferNoSchedule", "NoExecute"),
      "Taint effect to match; empty matches all.",
    ),
    tolerationSeconds: nullable(
      5,
      int64(),
      "How long the pod stays after a NoExecute taint appears; absent means for ever.",
    ),
  },
  { doc: "Lets a pod run on nodes that carry a matching taint." },
);
export interface Toleration extends Infer<typeof Toleration> {}

export const TopologySpreadConstraint = object(
  "core/v1.TopologySpreadConstraint",
  {
    maxSkew: present(1, int32(), "By how much the number of pods may differ between two places."),
    topologyKey: present(2, string(), "Node label whose equal values make two nodes the same place."),
    whenUnsatisfiable: present(
      3,
      oneOf("DoNotSchedule", "ScheduleAnyway"),
      "Whether a pod that would break the rule waits, or goes where it breaks it least.",
    ),
    labelSelector: nullable(4, LabelSelector, "The pods that are counted."),
    minDomains: nullable(
      5,
      int32(),
      "Fewest places there should be; with fewer, the least number of pods counts as zero.",
    ),
    nodeAffinityPolicy: nullable(
      6,
      oneOf("Honor", "Ignore"),
      "Whether only nodes that fit the pod's node affinity and selector count; Honor by default.",
    ),
    nodeTaintsPolicy: nullable(
      7,
      oneOf("Honor", "Ignore"),
      "Whether nodes with taints the pod does not tolerate are left out; Ignore by default.",
    ),
    matchLabelKeys: optional(
      8,
      list(string()),
      "Labels of the incoming pod whose values the counted pods must have as well.",
    ),
  },
  { doc: "Keeps matching pods evenly spread over places." },
);
export interface TopologySpreadConstraint extends Infer<typeof TopologySpreadConstraint> {}
