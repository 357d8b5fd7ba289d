import { type Pod } from "#api/core/pod.ts";
import { fits, type Rejection, reject, type SchedulerPlugin } from "../framework.ts";
import { maxScore } from "../normalize.ts";
import { requestOf } from "../resources.ts";
import { type NodeInfo } from "../snapshot.ts";

/** Is there room, and where is most of it left. */
export const nodeResourcesFit: SchedulerPlugin = {
  name: "NodeResourcesFit",
  weight: 1,
  retryOn: [
    { kind: "Node", change: "created" },
    { kind: "Node", change: "updated" },
    { kind: "Pod", change: "deleted" },
    { kind: "Pod", change: "updated" },
  ],

  filter(pod, info) {
    const reasons = missingOn(pod, info);
    if (reasons.length === 0) return fits;
    return { ...reject(...reasons), isFinal: exceedsNode(pod, info) } satisfies Rejection;
  },

  /** Least allocated: the mean share of CPU and memory that would be left. */
  score(pod, info) {
    const { nonZero } = requestOf(pod);
    const cpu = leftShare(info.nonZero.milliCpu + nonZero.milliCpu, info.allocatable.milliCpu);
    const memory = leftShare(info.nonZero.memory + nonZero.memory, info.allocatable.memory);
    return Math.floor((cpu + memory) / 2);
  },
};

const leftShare = (used: number, of: number): number =>
  of === 0 || used > of ? 0 : Math.floor(((of - used) * maxScore) / of);

/** What the node lacks for the pod, in upstream's words and order. */
export function missingOn(pod: Pod, info: NodeInfo): string[] {
  const { requests } = requestOf(pod);
  const { allocatable, requested } = info;
  const missing: string[] = [];
  if (info.pods.size + 1 > info.allowedPods) missing.push("Too many pods");
  if (requests.milliCpu > 0 && requests.milliCpu > allocatable.milliCpu - requested.milliCpu)
    missing.push("Insufficient cpu");
  if (requests.memory > 0 && requests.memory > allocatable.memory - requested.memory)
    missing.push("Insufficient memory");
  if (
    requests.ephemeralStorage > 0 &&
    requests.ephemeralStorage > allocatable.ephemeralStorage - requested.ephemeralStorage
  ) {
    missing.push("Insufficient ephemeral-storage");
  }
  for (const [name, amount] of requests.scalar) {
    const free = (allocatable.scalar.get(name) ?? 0) - (requested.scalar.get(name) ?? 0);
    if (amount > 0 && amount > free) missing.push(`Insufficient ${name}`);
  }
  return missing;
}

/** Not even the empty node would do. */
function exceedsNode(pod: Pod, { allocatable }: NodeInfo): boolean {
  const { requests } = requestOf(pod);
  if (requests.milliCpu > allocatable.milliCpu || requests.memory > allocatable.memory) return true;
  return [...requests.scalar].some(([name, amount]) => amount > (allocatable.scalar.get(name) ?? 0));
}
