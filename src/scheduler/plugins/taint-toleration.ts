import { type Node, type Taint } from "#api/core/node.ts";
import { tolerates, toleratesNode } from "#api/core/pod/tolerations.ts";
import { type Pod } from "#api/core/pod.ts";
import { fits, rejectFinally, type SchedulerPlugin } from "../framework.ts";
import { normalizeReversed } from "../normalize.ts";

const tainted = rejectFinally("node(s) had untolerated taint(s)");

/** Rejects nodes with untolerated taints, and prefers nodes with fewer PreferNoSchedule taints. */
export const taintToleration: SchedulerPlugin = {
  name: "TaintToleration",
  weight: 3,
  retryOn: {
    node: (pod, { change, object, previous }) =>
      change !== "deleted" && isTolerated(pod, object) && !(previous && isTolerated(pod, previous)),
  },

  looksAt: ({ spec }) => spec.tolerations,

  filter: (pod, { node }) => (!node || isTolerated(pod, node) ? fits : tainted),

  score({ spec }, { node }) {
    let count = 0;
    for (const taint of taintsOf(node)) {
      if (taint.effect === "PreferNoSchedule" && !tolerates(spec.tolerations, taint)) count++;
    }
    return count;
  },
  normalize: normalizeReversed,
};

const none: readonly Taint[] = [];
const taintsOf = (node: Node | undefined): readonly Taint[] => node?.spec?.taints ?? none;

const isTolerated = ({ spec }: Pod, node: Node): boolean => toleratesNode(spec.tolerations, node);
