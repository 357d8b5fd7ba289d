import { fits, rejectFinally, type SchedulerPlugin } from "../framework.ts";

/** Honours `spec.nodeName`: a pod that names its node goes there or nowhere. */
export const nodeName: SchedulerPlugin = {
  name: "NodeName",
  retryOn: [{ kind: "Node", change: "created" }],

  candidates: ({ spec }) => (spec.nodeName ? new Set([spec.nodeName]) : undefined),

  filter({ spec }, { name }) {
    if (!spec.nodeName || spec.nodeName === name) return fits;
    return rejectFinally("node(s) didn't match the requested node name");
  },
};
