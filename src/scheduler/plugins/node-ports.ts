import { fits, reject, type SchedulerPlugin } from "../framework.ts";
import { hostPorts } from "../snapshot.ts";

/** Keeps two pods from claiming the same host port. */
export const nodePorts: SchedulerPlugin = {
  name: "NodePorts",
  retryOn: [
    { kind: "Pod", change: "deleted" },
    { kind: "Node", change: "created" },
  ],

  preFilter(pod) {
    const ports = [...hostPorts(pod)];
    return ports.length > 0 ? ports : undefined;
  },

  filter(_pod, { ports }, state) {
    const isTaken = (state as readonly string[]).some((wanted) => conflicts(wanted, ports));
    return isTaken ? reject("node(s) didn't have free ports for the requested pod ports") : fits;
  },
};

/** All addresses of the host collide with each of them. */
function conflicts(wanted: string, taken: ReadonlyMap<string, number>): boolean {
  if (taken.has(wanted)) return true;
  const [protocol, address, port] = wanted.split(" ");
  if (address !== "0.0.0.0") return taken.has(`${protocol} 0.0.0.0 ${port}`);
  for (const other of taken.keys()) {
    if (other.startsWith(`${protocol} `) && other.endsWith(` ${port}`)) return true;
  }
  return false;
}
