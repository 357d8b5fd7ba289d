import { type SchedulerPlugin } from "../framework.ts";
import { maxScore } from "../normalize.ts";
import { type Resources, requestOf } from "../resources.ts";

/** Prefers nodes on which the pod brings the used fractions of CPU and memory closer together. */
export const nodeResourcesBalancedAllocation: SchedulerPlugin = {
  name: "NodeResourcesBalancedAllocation",
  weight: 1,

  looksAt: (pod) => requestOf(pod).id,

  /** A pod without requests does not change the balance. */
  preScore(pod) {
    const { requests } = requestOf(pod);
    return requests.milliCpu > 0 || requests.memory > 0 ? requests : undefined;
  },

  score(_pod, { allocatable, requested }, state) {
    const { milliCpu, memory } = state as Resources;
    const before = balance(requested.milliCpu, requested.memory, allocatable);
    const after = balance(requested.milliCpu + milliCpu, requested.memory + memory, allocatable);
    // 75 if nothing changes, more if the node becomes better balanced, less if it becomes worse.
    return half + Math.trunc((half + after - before) / 2);
  },
};

const half = maxScore / 2;

/**
 * From 50 to 100: half the distance is the standard deviation of two fractions. Resources that a node lacks are left
 * out.
 */
function balance(milliCpu: number, memory: number, allocatable: Resources): number {
  if (allocatable.milliCpu === 0 || allocatable.memory === 0) return maxScore;
  const distance = share(milliCpu, allocatable.milliCpu) - share(memory, allocatable.memory);
  return Math.trunc((1 - Math.abs(distance / 2)) * maxScore);
}

const share = (used: number, of: number): number => Math.min(used / of, 1);
