import { type Node } from "#api/core/node.ts";
import { type Pod } from "#api/core/pod.ts";
import { formatLabelSelector, type LabelSelector } from "#api/meta/label-selector.ts";
import { type NodeRejection } from "#trace/answers.ts";

/** Why a node does not suit a pod because of the pods that run there or elsewhere. */
type Clash = "notNear" | "tooNear" | "unwanted" | "uneven" | "unlabelled";

/** Undefined if the reason is another one. */
export function clashOf({ plugin, reasons }: Pick<NodeRejection, "plugin" | "reasons">): Clash | undefined {
  const says = (words: string): boolean => reasons.some((reason) => reason.includes(words));
  if (plugin === "PodTopologySpread") return says("missing required label") ? "unlabelled" : "uneven";
  if (plugin !== "InterPodAffinity") return undefined;
  if (says("existing pods anti-affinity")) return "unwanted";
  return says("anti-affinity") ? "tooNear" : "notNear";
}

interface Words {
  readonly one: string;
  readonly many: string;
}
export const clashWords: Readonly<Record<Clash, Words>> = {
  notNear: {
    one: "is not near the pods that the pod's affinity demands",
    many: "are not near the pods that the pod's affinity demands",
  },
  tooNear: {
    one: "is too near to pods that the pod's anti-affinity avoids",
    many: "are too near to pods that the pod's anti-affinity avoids",
  },
  unwanted: {
    one: "is near pods whose anti-affinity keeps the pod away",
    many: "are near pods whose anti-affinity keeps the pod away",
  },
  uneven: { one: "would make the pod's spread too uneven", many: "would make the pod's spread too uneven" },
  unlabelled: { one: "lacks a label by which the pod is spread", many: "lack a label by which the pod is spread" },
};

/** The rules of the pod that the node does not meet. */
export function clashDetails({ spec }: Pod, { metadata }: Node, clash: Clash): string[] {
  switch (clash) {
    case "notNear":
      return required(spec.affinity?.podAffinity).map((rule) => `wants the same ${describeRule(rule)}`);
    case "tooNear":
      return required(spec.affinity?.podAntiAffinity).map((rule) => `wants another ${describeRule(rule)}`);
    case "unwanted":
      return [];
    case "uneven":
      return constraintsOf(spec).map(
        ({ maxSkew, minDomains, ...rule }) =>
          `wants a difference of at most ${maxSkew} between values of ${describeRule(rule, "counting")}${minDomains ? `, and at least ${minDomains} values` : ""}`,
      );
    case "unlabelled":
      return constraintsOf(spec).flatMap(({ topologyKey }) =>
        metadata.labels?.[topologyKey] === undefined ? [`has no label ${topologyKey}`] : [],
      );
  }
}

interface Rule {
  readonly topologyKey: string;
  readonly labelSelector?: LabelSelector | undefined;
}
const describeRule = ({ topologyKey, labelSelector }: Rule, link = "as"): string =>
  `${topologyKey} ${link} pods ${formatLabelSelector(labelSelector) || "of any label"}`;

interface Rules {
  readonly requiredDuringSchedulingIgnoredDuringExecution?: readonly Rule[] | undefined;
}
const required = (rules: Rules | undefined): readonly Rule[] =>
  rules?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
const constraintsOf = (spec: Pod["spec"]) =>
  (spec.topologySpreadConstraints ?? []).filter(({ whenUnsatisfiable }) => whenUnsatisfiable === "DoNotSchedule");

/** What would let the pod run there. */
export function clashAdvice({ spec }: Pod, node: string, clash: Clash): string {
  switch (clash) {
    case "notNear":
      return "Start a pod that the affinity selects, correct its labels or the selector, or prefer instead of requiring it.";
    case "tooNear":
      return "Add a node, run fewer of these pods, or prefer the anti-affinity instead of requiring it.";
    case "unwanted":
      return "Look for the anti-affinity of the pods that run there, and change it, or add a node.";
    case "uneven":
      return "Add nodes with other values of the label, raise maxSkew, or set whenUnsatisfiable to ScheduleAnyway.";
    case "unlabelled": {
      const [key = "KEY"] = constraintsOf(spec).map(({ topologyKey }) => topologyKey);
      return `Label the nodes, for example \`kubectl label node ${node} ${key}=VALUE\`, or spread the pods by another label.`;
    }
  }
}
