import { fits, rejectFinally, type SchedulerPlugin } from "../framework.ts";

const mismatch = rejectFinally("node(s) didn't match the requested node name");

/** Honours `spec.nodeName`: a pod that names its node goes there or nowhere. */
export const nodeName: SchedulerPlugin = {
  name: "NodeName",
  retryOn: { node: (_pod, { change }) => change === "created" },

  looksAt: ({ spec }) => spec.nodeName,

  preFilter: ({ spec }) => spec.nodeName || undefined,

  filter: (_pod, { name }, state) => (state === name ? fits : mismatch),
};
