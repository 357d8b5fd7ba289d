import { LabelSelector } from "#api/meta/label-selector.ts";
import { qualifiedName } from "#api/meta/names.ts";
import { nullable, optional, present, required as requiredField } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { atomicList, int32, int64, known, listedOneOf, oneOf, string } from "#schema/types.ts";

const object = inPackage("core/v1");

const required = "requiredDuringSchedulingIgnoredDuringExecution";
const preferred = "preferredDuringSchedulingIgnoredDuringExecution";

export const NodeSelectorRequirement = object("NodeSelectorRequirement", "A condition on a label or field of a node.", {
  key: present(1, string(), "Key of the label, or path of the field."),
  operator: present(
    2,
    known("DoesNotExist", "Exists", "Gt", "In", "Lt", "NotIn"),
    "How the key is compared: In, NotIn, Exists, DoesNotExist, Gt or Lt.",
  ),
  values: optional(
    3,
    atomicList(string()),
    "Values to compare with: none for Exists and DoesNotExist, one for Gt and Lt.",
  ),
});
export interface NodeSelectorRequirement extends Infer<typeof NodeSelectorRequirement> {}

export const NodeSelectorTerm = object.atomic("NodeSelectorTerm", "Conditions on a node. All of them must hold.", {
  matchExpressions: optional(1, atomicList(NodeSelectorRequirement), "Conditions on labels of the node."),
  matchFields: optional(
    2,
    atomicList(NodeSelectorRequirement),
    "Conditions on fields of the node: metadata.name only.",
  ),
});
export interface NodeSelectorTerm extends Infer<typeof NodeSelectorTerm> {}

const anyTerm = "Terms of which a node must match at least one.";
export const NodeSelector = object.atomic("NodeSelector", anyTerm, {
  nodeSelectorTerms: present(1, atomicList(NodeSelectorTerm), anyTerm),
});
export interface NodeSelector extends Infer<typeof NodeSelector> {}

const weight = present(1, int32(), "Weight of the term, from 1 to 100.");
const PreferredSchedulingTerm = object("PreferredSchedulingTerm", "A node selector term with a weight.", {
  weight,
  preference: requiredField(2, NodeSelectorTerm, "Conditions on the preferred nodes."),
});

export const NodeAffinity = object("NodeAffinity", "Which nodes a pod must or should run on.", {
  [required]: nullable(1, NodeSelector, "Selects the nodes that the pod may be scheduled to."),
  [preferred]: optional(
    2,
    atomicList(PreferredSchedulingTerm),
    "Terms that make a node preferable if it matches them.",
  ),
});
export interface NodeAffinity extends Infer<typeof NodeAffinity> {}

export const PodAffinityTerm = object(
  "PodAffinityTerm",
  "A set of pods, and the topology that counts as near to them.",
  {
    labelSelector: nullable(1, LabelSelector, "Selects the pods by label. Without it no pod is selected."),
    namespaces: optional(2, atomicList(string()), "Namespaces of the pods; the pod's own if no namespace is selected."),
    topologyKey: present(3, string(), "Label of nodes. Nodes with the same value are near to each other."),
    namespaceSelector: nullable(4, LabelSelector, "Selects namespaces of the pods by label. An empty one selects all."),
    matchLabelKeys: optional(5, atomicList(string()), "Labels whose values must be the same as those of the new pod."),
    mismatchLabelKeys: optional(6, atomicList(string()), "Labels whose values must differ from those of the new pod."),
  },
);
export interface PodAffinityTerm extends Infer<typeof PodAffinityTerm> {}

const WeightedPodAffinityTerm = object("WeightedPodAffinityTerm", "A pod affinity term with a weight.", {
  weight,
  podAffinityTerm: requiredField(2, PodAffinityTerm, "The pods, and what counts as near to them."),
});

export const PodAffinity = object("PodAffinity", "Which pods a pod must or should be near to.", {
  [required]: optional(1, atomicList(PodAffinityTerm), "Pods that must be near when the pod is scheduled."),
  [preferred]: optional(2, atomicList(WeightedPodAffinityTerm), "Pods that should be near, by weight."),
});
export interface PodAffinity extends Infer<typeof PodAffinity> {}

export const Affinity = object("Affinity", "Rules for the placement of a pod.", {
  nodeAffinity: nullable(1, NodeAffinity, "Which nodes the pod must or should run on."),
  podAffinity: nullable(2, PodAffinity, "Which pods the pod must or should be near to."),
  podAntiAffinity: object.nullable(3, "PodAntiAffinity", "Which pods the pod must or should not be near to.", {
    [required]: optional(1, atomicList(PodAffinityTerm), "Pods that must not be near when the pod is scheduled."),
    [preferred]: optional(2, atomicList(WeightedPodAffinityTerm), "Pods that should not be near, by weight."),
  }),
});
export interface Affinity extends Infer<typeof Affinity> {}

const effects = listedOneOf("NoSchedule", "PreferNoSchedule", "NoExecute");
export const Toleration = object("Toleration", "Lets a pod run on nodes with a matching taint.", {
  key: optional(1, string(qualifiedName), "Key of the taint. Empty with the operator Exists matches every taint."),
  operator: optional(
    2,
    known("Equal", "Exists", "Gt", "Lt"),
    "How the value of the taint is compared: Equal (default) or Exists.",
  ),
  value: optional(3, string(), "Value of the taint, for the operator Equal."),
  effect: optional(4, effects, "Effect of the taint; all effects if empty."),
  tolerationSeconds: nullable(5, int64(), "Seconds that the pod tolerates a NoExecute taint; for ever if absent."),
});
export interface Toleration extends Infer<typeof Toleration> {}

export const TopologySpreadConstraint = object("TopologySpreadConstraint", "How pods are spread over a topology.", {
  maxSkew: present(1, int32(), "Maximum difference in the number of pods between two domains."),
  topologyKey: present(2, string(), "Label of nodes. Nodes with the same value are in the same domain."),
  whenUnsatisfiable: present(3, oneOf("DoNotSchedule", "ScheduleAnyway"), "What happens to a pod that does not fit."),
  labelSelector: nullable(4, LabelSelector, "Selects the pods that are counted, by label."),
  minDomains: nullable(5, int32(), "Minimum number of domains. With fewer, the smallest count is taken as 0."),
  nodeAffinityPolicy: nullable(6, oneOf("Honor", "Ignore"), "Whether only nodes that the affinity allows count."),
  nodeTaintsPolicy: nullable(7, oneOf("Honor", "Ignore"), "Whether nodes with taints that are not tolerated count."),
  matchLabelKeys: optional(8, atomicList(string()), "Labels whose values must be the same as those of the new pod."),
});
export interface TopologySpreadConstraint extends Infer<typeof TopologySpreadConstraint> {}
