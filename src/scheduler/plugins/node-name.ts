import { fits, rejectFinally, type SchedulerPlugin } from "../framework.ts";

const mismatch = rejectFinally("node(s) didn't match the requested node name");

/** Honours `spec.nodeName`: a pod that names its node goes there or nowhere. */
export const nodeName: SchedulerPlugin = {
  name: "NodeName",
  retryOn: { node: (_pod, { change }) => change === "created" },

  looksAt: ({ spec }) => spec.nodeName,

  filter: ({ spec }, { name }) => (!spec.nodeName || spec.nodeName === name ? fits : mismatch),
};
