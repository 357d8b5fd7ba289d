import { DaemonSet } from "#api/apps/daemon-set.ts";
import { type Node } from "#api/core/node.ts";
import { matchesRequired } from "#api/core/node-match.ts";
import { type NodeSelectorTerm, type Toleration } from "#api/core/pod/affinity.ts";
import { tolerates } from "#api/core/pod/tolerations.ts";
import { type Pod } from "#api/core/pod.ts";
import { type InputOf } from "#api/resource.ts";
import { revisionLabel } from "#api/well-known.ts";
import { podFrom } from "#controllers/shared/owned-pods.ts";

/** Daemons run on nodes that are not well, because they may be what makes them well. */
const usualTolerations: readonly Toleration[] = [
  { key: "node.kubernetes.io/not-ready", operator: "Exists", effect: "NoExecute" },
  { key: "node.kubernetes.io/unreachable", operator: "Exists", effect: "NoExecute" },
  { key: "node.kubernetes.io/disk-pressure", operator: "Exists", effect: "NoSchedule" },
  { key: "node.kubernetes.io/memory-pressure", operator: "Exists", effect: "NoSchedule" },
  { key: "node.kubernetes.io/pid-pressure", operator: "Exists", effect: "NoSchedule" },
  { key: "node.kubernetes.io/unschedulable", operator: "Exists", effect: "NoSchedule" },
];
const hostNetworkToleration: Toleration = {
  key: "node.kubernetes.io/network-unavailable",
  operator: "Exists",
  effect: "NoSchedule",
};

export function tolerationsOf({ spec }: DaemonSet): Toleration[] {
  const { tolerations = [], hostNetwork } = spec.template.spec;
  const added = hostNetwork ? [...usualTolerations, hostNetworkToleration] : usualTolerations;
  const isSame = (a: Toleration, b: Toleration): boolean =>
    a.key === b.key && a.effect === b.effect && (a.operator ?? "Equal") === b.operator;
  return [...tolerations, ...added.filter((wanted) => !tolerations.some((given) => isSame(given, wanted)))];
}

/** Whether the set's pod belongs on a node, and whether one that is there may stay. */
export interface NodeFit {
  readonly shouldRun: boolean;
  readonly mayStay: boolean;
}

export function fitOf(set: DaemonSet, node: Node, tolerations: readonly Toleration[]): NodeFit {
  const { template } = set.spec;
  const isNamed = !template.spec.nodeName || template.spec.nodeName === node.metadata.name;
  if (!isNamed || !matchesRequired(template, node)) return { shouldRun: false, mayStay: false };
  const untolerated = node.spec.taints?.filter((taint) => !tolerates(tolerations, taint)) ?? [];
  return {
    shouldRun: untolerated.every(({ effect }) => effect === "PreferNoSchedule"),
    mayStay: untolerated.every(({ effect }) => effect !== "NoExecute"),
  };
}

/** The node that a pod is for: where it runs, or the one that its affinity names. */
export function nodeOf({ spec }: Pod): string | undefined {
  if (spec.nodeName) return spec.nodeName;
  const terms = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  for (const { matchFields = [] } of terms) {
    const field = matchFields.find(({ key, operator }) => key === "metadata.name" && operator === "In");
    if (field?.values?.length === 1) return field.values[0];
  }
  return undefined;
}

/** The pod for one node. The scheduler places it, by an affinity that no other node satisfies. */
export function daemonPod(
  set: DaemonSet,
  { node, hash }: { readonly node: string; readonly hash: string },
): InputOf<Pod> {
  const { metadata, spec } = podFrom(DaemonSet, set, set.spec.template);
  const { affinity } = set.spec.template.spec;
  const field = { key: "metadata.name", operator: "In" as const, values: [node] };
  const { requiredDuringSchedulingIgnoredDuringExecution: required, ...others } = affinity?.nodeAffinity ?? {};
  const terms: readonly NodeSelectorTerm[] = required?.nodeSelectorTerms ?? [{}];
  // The template's own field selectors were used to choose the node.
  const nodeSelectorTerms = terms.map(({ matchExpressions }) => ({
    ...(matchExpressions ? { matchExpressions } : {}),
    matchFields: [field],
  }));
  const nodeAffinity = { ...others, requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } };
  return {
    metadata: { ...metadata, labels: { ...metadata.labels, [revisionLabel]: hash } },
    spec: { ...spec, affinity: { ...affinity, nodeAffinity }, tolerations: tolerationsOf(set) },
  };
}
