import { type SchedulerPlugin } from "../framework.ts";
import { maxScore } from "../normalize.ts";
import { type Resources, requestOf } from "../resources.ts";

/** Prefers nodes that the pod would bring closer to using like shares of CPU and memory. */
export const nodeResourcesBalancedAllocation: SchedulerPlugin = {
  name: "NodeResourcesBalancedAllocation",
  weight: 1,

  looksAt: (pod) => requestOf(pod).id,

  /** A pod that asks for nothing balances nothing. */
  preScore(pod) {
    const { requests } = requestOf(pod);
    return requests.milliCpu > 0 || requests.memory > 0 ? requests : undefined;
  },

  score(_pod, { allocatable, requested }, state) {
    const { milliCpu, memory } = state as Resources;
    const before = balance(requested.milliCpu, requested.memory, allocatable);
    const after = balance(requested.milliCpu + milliCpu, requested.memory + memory, allocatable);
    // 75 if nothing changes, more where the node gets better balanced, less where it gets worse.
    return half + Math.trunc((half + after - before) / 2);
  },
};

const half = maxScore / 2;

/** From 50 to 100: half the distance is the standard deviation of two shares. What a node does not have is left out. */
function balance(milliCpu: number, memory: number, allocatable: Resources): number {
  if (allocatable.milliCpu === 0 || allocatable.memory === 0) return maxScore;
  const distance = share(milliCpu, allocatable.milliCpu) - share(memory, allocatable.memory);
  return Math.trunc((1 - Math.abs(distance / 2)) * maxScore);
}

const share = (used: number, of: number): number => Math.min(used / of, 1);
