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

/** Whether a port is already taken. 0.0.0.0 conflicts with every address of the host. */
export function isPortTaken(
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
