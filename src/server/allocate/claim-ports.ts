import { needsHealthCheckPort } from "#api/core/service/prepare-service.ts";
import { type Service } from "#api/core/service.ts";
import { type FieldError, type FieldPath, internalFault, invalidValue, root } from "#schema/field-error.ts";
import { type Claims, type Pool } from "./claims.ts";
import { findFree, lowPart } from "./find-free.ts";
import { portKey } from "./held.ts";

/** Claims the node ports of the service: those that the client asked for, or free ones. */
export function* claimPorts(pool: Pool, { spec }: Service, claims: Claims): Iterable<FieldError> {
  const wantsPorts =
    spec.type === "NodePort" || (spec.type === "LoadBalancer" && spec.allocateLoadBalancerNodePorts !== false);
  const ports = spec.ports ?? [];
  /** The same port over TCP and UDP is one port on the nodes. */
  const byPort = new Map(ports.filter(({ nodePort }) => nodePort).map(({ port, nodePort }) => [port, nodePort]));
  for (const [index, port] of ports.entries()) {
    if (!wantsPorts && !port.nodePort) continue;
    const path = root.child("spec", "ports").index(index).child("nodePort");
    const { nodePort: asked } = port;
    const nodePort = asked || byPort.get(port.port);
    if (nodePort) yield* claimGiven(pool, path, { port: nodePort, claims });
    port.nodePort = nodePort || (freePort(pool, claims) ?? 0);
    byPort.set(port.port, port.nodePort);
    if (!port.nodePort) yield internalFault(path, "failed to allocate a nodePort: range is full");
    if (!asked) claims.onUndo(() => delete port.nodePort);
  }
  if (!needsHealthCheckPort(spec)) return;
  const path = root.child("spec", "healthCheckNodePort");
  if (spec.healthCheckNodePort) yield* claimGiven(pool, path, { port: spec.healthCheckNodePort, claims });
  else {
    spec.healthCheckNodePort = freePort(pool, claims) ?? 0;
    claims.onUndo(() => delete spec.healthCheckNodePort);
  }
}

function* claimGiven(
  { nodePorts: { min, max } }: Pool,
  path: FieldPath,
  { port, claims }: { port: number; claims: Claims },
): Iterable<FieldError> {
  if (claims.has(portKey(port))) return;
  if (port < min || port > max) {
    const detail = `provided port is not in the valid range. The range of valid ports is ${min}-${max}`;
    yield invalidValue(path, port, detail);
  } else if (!claims.take(portKey(port))) {
    yield invalidValue(path, port, "provided port is already allocated");
  }
}

function freePort({ nodePorts: { min, max }, random }: Pool, claims: Claims): number | undefined {
  const low = lowPart(max - min + 1, { step: 32, max: 128 });
  return findFree({ min, max, low }, random, (port) => claims.takeNew(portKey(port)));
}
