import { type SchedulerPlugin } from "../framework.ts";

/** A pod with gates does not enter the queue until they are removed. */
export const schedulingGates: SchedulerPlugin = {
  name: "SchedulingGates",

  preEnqueue({ spec }) {
    const gates = (spec.schedulingGates ?? []).map(({ name }) => name);
    return gates.length > 0 ? `waiting for scheduling gates: [${gates.join(" ")}]` : undefined;
  },
};
