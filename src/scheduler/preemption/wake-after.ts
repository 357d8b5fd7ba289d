import { type SchedulingQueue } from "../queue.ts";
import { type Snapshot } from "../snapshot.ts";
import { type Nominated, priorityOf } from "./nominations.ts";

/**
 * A pod no longer waits for room on this node. Pods that are not more important had to leave it, so for them it is as if
 * the pod had been there and were deleted.
 */
export function wakeAfter({ key, pod }: Nominated, node: string, snapshot: Snapshot, queue: SchedulingQueue): void {
  const isThere = snapshot.podOf(key)?.spec.nodeName === node;
  if (isThere) return;
  const object = { ...pod, spec: { ...pod.spec, nodeName: node } };
  const change = { kind: "Pod", change: "deleted", object, info: snapshot.get(node), freesRoom: true } as const;
  queue.changed(change, (other) => other.key !== key && priorityOf(other.pod) <= priorityOf(pod));
}
