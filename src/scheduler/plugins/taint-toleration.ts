import { type Node, type Taint } from "#api/core/node.ts";
import { type Pod } from "#api/core/pod.ts";
import { tolerates } from "#api/core/tolerations.ts";
import { fits, rejectFinally, type SchedulerPlugin } from "../framework.ts";
import { normalizeReversed } from "../normalize.ts";

const tainted = rejectFinally("node(s) had untolerated taint(s)");

/** Keeps pods off nodes whose taints they do not tolerate, and prefers nodes without mild ones. */
export const taintToleration: SchedulerPlugin = {
  name: "TaintToleration",
  weight: 3,
  retryOn: {
    node: (pod, { change, object, previous }) =>
      change !== "deleted" && isTolerated(pod, object) && !(previous && isTolerated(pod, previous)),
  },

  looksAt: ({ spec }) => spec.tolerations,

  filter: (pod, { node }) => (!node || isTolerated(pod, node) ? fits : tainted),

  score: ({ spec }, { node }) =>
    taintsOf(node)
      .filter(({ effect }) => effect === "PreferNoSchedule")
      .filter((taint) => !tolerates(spec.tolerations, taint)).length,
  normalize: normalizeReversed,
};

const none: readonly Taint[] = [];
const taintsOf = (node: Node | undefined): readonly Taint[] => node?.spec?.taints ?? none;

const isTolerated = ({ spec }: Pod, node: Node): boolean =>
  taintsOf(node).every(
    (taint) => (taint.effect !== "NoSchedule" && taint.effect !== "NoExecute") || tolerates(spec.tolerations, taint),
  );
