import { hostPorts, isAnyPortTaken } from "#api/core/pod/host-ports.ts";
import { fits, reject, type SchedulerPlugin } from "../framework.ts";

const taken = reject("node(s) didn't have free ports for the requested pod ports");

/** Prevents two pods from using the same host port. */
export const nodePorts: SchedulerPlugin = {
  name: "NodePorts",
  retryOn: {
    node: (_pod, { change }) => change === "created",
    /** Only a pod that used one of the ports makes room. */
    pod(pod, { change, object }) {
      const freed = new Set(hostPorts(object));
      return change === "deleted" && isAnyPortTaken(hostPorts(pod), freed);
    },
  },

  looksAt: hostPorts,

  preFilter(pod) {
    const ports = hostPorts(pod);
    return ports.length > 0 ? ports : undefined;
  },

  filter: (_pod, { ports }, state) => (isAnyPortTaken(state as readonly string[], ports) ? taken : fits),
};
