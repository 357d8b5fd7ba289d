import { tolerates } from "#api/core/tolerations.ts";
import { fits, rejectFinally, type SchedulerPlugin } from "../framework.ts";

const taint = { key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" };

/** Leaves cordoned nodes alone, unless the pod tolerates that. */
export const nodeUnschedulable: SchedulerPlugin = {
  name: "NodeUnschedulable",
  retryOn: [
    { kind: "Node", change: "created" },
    { kind: "Node", change: "updated" },
  ],

  filter({ spec }, { node }) {
    if (!node?.spec?.unschedulable || tolerates(spec.tolerations, taint)) return fits;
    return rejectFinally("node(s) were unschedulable");
  },
};
