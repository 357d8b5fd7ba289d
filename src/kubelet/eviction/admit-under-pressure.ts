import { qosClassOf } from "#api/core/pod/pod-resources.ts";
import { tolerates } from "#api/core/pod/tolerations.ts";
import type { Pod } from "#api/core/pod.ts";
import { isCriticalPod } from "#kubelet/resources/critical-pod.ts";
import type { Pressure } from "./signals.ts";

const memoryTaint = { key: "node.kubernetes.io/memory-pressure", effect: "NoSchedule" };

/** Why a node under pressure does not run a new pod; undefined if it does. */
export function pressureRejection(pod: Pod, conditions: readonly Pressure[]) {
  if (conditions.length === 0 || isCriticalPod(pod)) return undefined;
  const isOnlyMemory = conditions.every((one) => one === "MemoryPressure");
  if (isOnlyMemory && (qosClassOf(pod.spec) !== "BestEffort" || tolerates(pod.spec.tolerations, memoryTaint))) {
    return undefined;
  }
  return { reason: "Evicted", message: `The node had condition: [${conditions.join(" ")}]. ` };
}
