import { tolerates } from "#api/core/tolerations.ts";
import { fits, rejectFinally, type SchedulerPlugin } from "../framework.ts";
import { normalizeReversed } from "../normalize.ts";

/** Keeps pods off nodes whose taints they do not tolerate, and prefers nodes without mild ones. */
export const taintToleration: SchedulerPlugin = {
  name: "TaintToleration",
  weight: 3,
  retryOn: [
    { kind: "Node", change: "created" },
    { kind: "Node", change: "updated" },
  ],

  filter({ spec }, { node }) {
    const taint = node?.spec?.taints?.find(({ effect, ...rest }) => {
      return (effect === "NoSchedule" || effect === "NoExecute") && !tolerates(spec.tolerations, { effect, ...rest });
    });
    if (!taint) return fits;
    return rejectFinally(`node(s) had untolerated taint {${taint.key}: ${taint.value ?? ""}}`);
  },

  score: ({ spec }, { node }) =>
    (node?.spec?.taints ?? []).filter(
      (taint) => taint.effect === "PreferNoSchedule" && !tolerates(spec.tolerations, taint),
    ).length,
  normalize: normalizeReversed,
};
