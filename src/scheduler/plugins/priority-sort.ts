import { type SchedulerPlugin } from "../framework.ts";

/** The pod with the higher priority first; among equals the one that has waited longer. */
export const prioritySort: SchedulerPlugin = {
  name: "PrioritySort",

  queueSort(a, b) {
    const [left, right] = [a.pod.spec.priority ?? 0, b.pod.spec.priority ?? 0];
    return left === right ? a.queuedAt < b.queuedAt : left > right;
  },
};
