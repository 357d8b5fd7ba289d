import { type SchedulerPlugin } from "../framework.ts";
import { maxScore } from "../normalize.ts";
import { requestOf } from "../resources.ts";

/** Prefers nodes whose CPU and memory would be used to like shares. */
export const nodeResourcesBalancedAllocation: SchedulerPlugin = {
  name: "NodeResourcesBalancedAllocation",
  weight: 1,

  /** A pod that asks for nothing balances nothing. */
  preScore(pod) {
    const { requests } = requestOf(pod);
    return requests.milliCpu > 0 || requests.memory > 0 ? requests : undefined;
  },

  score(pod, { allocatable, requested }) {
    const { requests } = requestOf(pod);
    const cpu = share(requested.milliCpu + requests.milliCpu, allocatable.milliCpu);
    const memory = share(requested.memory + requests.memory, allocatable.memory);
    // Half the distance is the standard deviation of two shares.
    return Math.floor((1 - Math.abs(cpu - memory) / 2) * maxScore);
  },
};

const share = (used: number, of: number): number => (of === 0 ? 1 : Math.min(used / of, 1));
