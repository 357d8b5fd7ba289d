import { fits, reject, type SchedulerPlugin } from "../framework.ts";
import { hostPorts } from "../snapshot.ts";

const taken = reject("node(s) didn't have free ports for the requested pod ports");

/** Keeps two pods from claiming the same host port. */
export const nodePorts: SchedulerPlugin = {
  name: "NodePorts",
  retryOn: {
    node: (_pod, { change }) => change === "created",
    /** Only a pod that had one of the ports makes room. */
    pod(pod, { change, object }) {
      const freed = new Set(hostPorts(object));
      return change === "deleted" && hostPorts(pod).some((wanted) => conflicts(wanted, freed));
    },
  },

  looksAt: hostPorts,

  preFilter(pod) {
    const ports = hostPorts(pod);
    return ports.length > 0 ? ports : undefined;
  },

  filter: (_pod, { ports }, state) =>
    (state as readonly string[]).some((wanted) => conflicts(wanted, ports)) ? taken : fits,
};

/** All addresses of the host collide with each of them. */
function conflicts(
  wanted: string,
  used: Pick<ReadonlyMap<string, unknown>, "has"> & { keys(): Iterable<string> },
): boolean {
  if (used.has(wanted)) return true;
  const [protocol, address, port] = wanted.split(" ");
  if (address !== "0.0.0.0") return used.has(`${protocol} 0.0.0.0 ${port}`);
  for (const other of used.keys()) {
    if (other.startsWith(`${protocol} `) && other.endsWith(` ${port}`)) return true;
  }
  return false;
}
