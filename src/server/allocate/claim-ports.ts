import { needsHealthCheckPort } from "#api/core/service/prepare-service.ts";
import { type Service } from "#api/core/service.ts";
import { internalError } from "#api/status.ts";
import { type FieldError, invalidValue, root } from "#schema/field-error.ts";
import { type Claims, type Pool } from "./claims.ts";
import { findFree, lowPart } from "./find-free.ts";
import { portKey } from "./held.ts";

/** Claims the node ports of the service: those that the client asked for, or free ones. */
export function* claimPorts(pool: Pool, { spec }: Service, claims: Claims): Iterable<FieldError> {
  const wantsPorts =
    spec.type === "NodePort" || (spec.type === "LoadBalancer" && spec.allocateLoadBalancerNodePorts !== false);
  const ports = spec.ports ?? [];
  const free = freePorts(pool, claims);
  /** The same port over TCP and UDP is one port on the nodes. */
  const byPort = new Map(ports.filter(({ nodePort }) => nodePort).map(({ port, nodePort }) => [port, nodePort]));
  for (const [index, port] of ports.entries()) {
    if (!wantsPorts && !port.nodePort) continue;
    const path = root.child("spec", "ports").index(index).child("nodePort");
    const { nodePort: asked } = port;
    const nodePort = asked || byPort.get(port.port);
    const fault = nodePort && portFault(pool, nodePort, claims);
    if (fault) yield invalidValue(path, nodePort, fault);
    port.nodePort = nodePort || nextPort(free, "nodePort");
    byPort.set(port.port, port.nodePort);
    if (!asked) claims.onUndo(() => delete port.nodePort);
  }
  if (needsHealthCheckPort(spec)) claimHealthCheckPort(pool, spec, { claims, free });
}

/** All errors are internal ones, as upstream. */
function claimHealthCheckPort(
  pool: Pool,
  spec: Service["spec"],
  { claims, free }: { readonly claims: Claims; readonly free: FreePorts },
): void {
  const { healthCheckNodePort: asked } = spec;
  if (!asked) {
    spec.healthCheckNodePort = nextPort(free, "HealthCheck NodePort 0");
    claims.onUndo(() => delete spec.healthCheckNodePort);
    return;
  }
  const fault = portFault(pool, asked, claims);
  if (fault) throw internalError(new Error(`failed to allocate requested HealthCheck NodePort ${asked}: ${fault}`));
}

/** Why a client cannot have a port, in upstream's words. */
function portFault({ nodePorts: { min, max } }: Pool, port: number, claims: Claims): string | undefined {
  if (claims.has(portKey(port))) return undefined;
  if (port < min || port > max) {
    return `provided port is not in the valid range. The range of valid ports is ${min}-${max}`;
  }
  return claims.take(portKey(port)) ? undefined : "provided port is already allocated";
}

type FreePorts = Iterator<number, undefined>;

function freePorts({ nodePorts: { min, max }, random }: Pool, claims: Claims): FreePorts {
  const low = lowPart(max - min + 1, { step: 32, max: 128 });
  return findFree({ min, max, low }, random, (port) => claims.takeNew(portKey(port)));
}

/** There may be thousands of ports, and the others would get none either: one that gets none ends the search. */
function nextPort(free: FreePorts, what: string): number {
  const port = free.next().value;
  if (port === undefined) throw internalError(new Error(`failed to allocate a ${what}: range is full`));
  return port;
}
