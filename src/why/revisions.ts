import { type DaemonSet } from "#api/apps/daemon-set.ts";
import { type StatefulSet } from "#api/apps/stateful-set.ts";
import { type Pod } from "#api/core/pod.ts";
import { revisionLabel } from "#api/well-known.ts";
import { type WorkloadFacts } from "./facts.ts";

type Facts = Pick<WorkloadFacts, "kind" | "object" | "pods">;

/** How many pods keep an older template until somebody deletes them. */
export function countKept(facts: Facts): number {
  if (facts.kind === "DaemonSet") {
    const { spec, status } = facts.object as DaemonSet;
    return spec.updateStrategy.type === "OnDelete"
      ? status.desiredNumberScheduled - (status.updatedNumberScheduled ?? 0)
      : 0;
  }
  if (facts.kind !== "StatefulSet" || !isOnDelete(facts.object as StatefulSet)) return 0;
  return facts.pods.filter((pod) => isOutdated(facts.object as StatefulSet, pod)).length;
}

/**
 * How to replace a pod that is not ready and has an older template than it should have. A StatefulSet that starts its pods in
 * order waits until it is ready, also if the newest template is what would make it ready.
 */
export function replacementAdvice({ kind, object }: Facts, pod: Pod): string | undefined {
  if (kind !== "StatefulSet") return undefined;
  const set = object as StatefulSet;
  const waits = isOnDelete(set) || set.spec.podManagementPolicy !== "Parallel";
  if (!waits || !isOutdated(set, pod) || isBelowPartition(set, pod)) return undefined;
  const { name, namespace } = pod.metadata;
  return `The template was changed since, but the StatefulSet does not replace a pod that is not ready: \`kubectl delete pod ${name} -n ${namespace}\`.`;
}

const isOnDelete = ({ spec }: StatefulSet): boolean => spec.updateStrategy.type === "OnDelete";

function isOutdated({ status }: StatefulSet, { metadata }: Pod): boolean {
  const revision = metadata.labels?.[revisionLabel];
  return revision !== undefined && status.updateRevision !== undefined && revision !== status.updateRevision;
}

/** These keep the older template on purpose. */
function isBelowPartition({ spec }: StatefulSet, { metadata }: Pod): boolean {
  const ordinal = Number(/-(\d+)$/.exec(metadata.name)?.[1]);
  return ordinal < (spec.updateStrategy.rollingUpdate?.partition ?? 0);
}
