import { type DefaultPreemptionArgs } from "../args/plugin-args.ts";
import { type SchedulerPlugin } from "../framework.ts";

/** Makes room for a pod that fits nowhere, by ending less important ones. */
export const defaultPreemption = (args?: DefaultPreemptionArgs): SchedulerPlugin => {
  const { minCandidateNodesPercentage: percentage = 10, minCandidateNodesAbsolute: atLeast = 100 } = args ?? {};
  return {
    name: "DefaultPreemption",
    postFilter: ({ makeRoom }) => makeRoom({ percentage, atLeast }),
  };
};
