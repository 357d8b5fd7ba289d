import type { Container } from "#api/core/container/container.ts";
import type { PodObject } from "./pod-fields.ts";
import { isSidecar } from "./pod-resources.ts";

/** `TCP 0.0.0.0 80` for every host port that the pod takes for as long as it runs. */
export function hostPorts({ spec }: Pick<PodObject, "spec">): readonly string[] {
  let ports: string[] | undefined;
  for (const container of spec.containers) ports = withPortsOf(container, ports);
  for (const container of spec.initContainers ?? []) if (isSidecar(container)) ports = withPortsOf(container, ports);
  return ports ?? noPorts;
}

/** Most pods have none, and the scheduler asks often. */
const noPorts: readonly string[] = [];

function withPortsOf({ ports = [] }: Container, before: string[] | undefined): string[] | undefined {
  let all = before;
  for (const { hostPort, hostIP, protocol } of ports) {
    if (!hostPort) continue;
    all ??= [];
    all.push(`${protocol ?? "TCP"} ${hostIP || "0.0.0.0"} ${hostPort}`);
  }
  return all;
}

/** The ports in use, as `hostPorts` writes them. */
type UsedPorts = Pick<ReadonlyMap<string, unknown>, "has"> & { keys(): Iterable<string> };

/** Whether one of the ports is already taken. 0.0.0.0 conflicts with every address of the host. */
export function isAnyPortTaken(wanted: readonly string[], used: UsedPorts): boolean {
  const everywhere = new Set<string>();
  for (const text of wanted) {
    if (used.has(text)) return true;
    const [protocol, address, port] = text.split(" ");
    if (address === "0.0.0.0") everywhere.add(`${protocol} ${port}`);
    else if (used.has(`${protocol} 0.0.0.0 ${port}`)) return true;
  }
  if (everywhere.size === 0) return false;
  // One walk for all of them: both lists may have thousands of ports.
  for (const other of used.keys()) {
    const [protocol, , port] = other.split(" ");
    if (everywhere.has(`${protocol} ${port}`)) return true;
  }
  return false;
}
