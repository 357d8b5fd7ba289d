import { type BalancedAllocationArgs, type ResourceSpec } from "../args/plugin-args.ts";
import { type SchedulerPlugin } from "../framework.ts";
import { maxScore } from "../normalize.ts";
import { type PodRequest, type Resources, requestOf } from "../resources.ts";
import { areUsual } from "../scoring/amounts.ts";
import { balanceOf } from "../scoring/balance.ts";
import { type ClassKnowledge, scoredDevices } from "../scoring/scored-devices.ts";

/** Prefers nodes on which the pod brings the used fractions of CPU and memory, or of other resources, closer together. */
export const nodeResourcesBalancedAllocation = (
  { resources }: BalancedAllocationArgs = {},
  classes: ClassKnowledge = { classFor: () => undefined },
): SchedulerPlugin => ({
  name: "NodeResourcesBalancedAllocation",
  weight: 1,

  looksAt: (pod) => requestOf(pod).id,

  ...(areUsual(resources) ? usualHooks : hooksFor(resources ?? [], classes)),
});

type Hooks = Required<Pick<SchedulerPlugin, "preScore" | "score">>;

const usualHooks: Hooks = {
  /** A pod without requests does not change the balance. */
  preScore(pod) {
    const { requests } = requestOf(pod);
    return requests.milliCpu > 0 || requests.memory > 0 ? requests : undefined;
  },

  score(_pod, { allocatable, requested }, state) {
    const { milliCpu, memory } = state as Resources;
    const before = balance(requested.milliCpu, requested.memory, allocatable);
    const after = balance(requested.milliCpu + milliCpu, requested.memory + memory, allocatable);
    return scoreOf(before, after);
  },
};

function hooksFor(resources: readonly ResourceSpec[], classes: ClassKnowledge): Hooks & Partial<SchedulerPlugin> {
  const { devices, hooks, basisOf } = scoredDevices(resources, classes);
  const { asksForAny, around } = balanceOf(resources, devices);
  return {
    ...hooks,
    basis: basisOf,
    preScore(pod) {
      const request = requestOf(pod);
      return asksForAny(request) ? request : undefined;
    },
    score(_pod, node, state) {
      const { before, after } = around(node, state as PodRequest);
      return scoreOf(before, after);
    },
  };
}

/** 75 if nothing changes, more if the node becomes better balanced, less if it becomes worse. */
const scoreOf = (before: number, after: number): number => half + Math.trunc((half + after - before) / 2);

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
