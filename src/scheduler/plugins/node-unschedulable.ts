import { type Node } from "#api/core/node.ts";
import { tolerates } from "#api/core/pod/tolerations.ts";
import { unschedulableTaint } from "#api/well-known.ts";
import { fits, rejectFinally, type SchedulerPlugin } from "../framework.ts";

const taint = { key: unschedulableTaint, effect: "NoSchedule" };
const cordoned = rejectFinally("node(s) were unschedulable");

/** Rejects cordoned nodes, unless the pod tolerates that. */
export const nodeUnschedulable: SchedulerPlugin = {
  name: "NodeUnschedulable",
  retryOn: {
    node: (_pod, { change, object, previous }) =>
      change !== "deleted" && !isCordoned(object) && (!previous || isCordoned(previous)),
  },

  looksAt: ({ spec }) => spec.tolerations,

  filter: ({ spec }, { node }) => (!node || !isCordoned(node) || tolerates(spec.tolerations, taint) ? fits : cordoned),
};

const isCordoned = ({ spec }: Node): boolean => spec?.unschedulable ?? false;
