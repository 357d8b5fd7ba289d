import { Service } from "#api/core/service.ts";
import { type ApiObject } from "#api/resource.ts";
import { internalError, invalid } from "#api/status.ts";
import { formatIPv4, parseCidr } from "#lib/ip.ts";
import { type Random } from "#lib/random.ts";
import { type Informer } from "#runtime/informer.ts";
import { type FieldError, type FieldPath, internalFault, invalidValue, root } from "#schema/field-error.ts";
import { type WriteHook } from "../endpoints/write.ts";
import { settleFamilies } from "./service-families.ts";

export interface ServiceRanges {
  /** Where cluster addresses come from: `10.96.0.0/16`. */
  readonly cidr: string;
  readonly nodePorts: { readonly min: number; readonly max: number };
}
export const defaultServiceRanges: ServiceRanges = { cidr: "10.96.0.0/16", nodePorts: { min: 30000, max: 32767 } };

/**
 * Gives Services their cluster address and node ports before they are written. What is taken is what the Services say;
 * what a write under way has taken is kept beside it until the write is seen or has failed.
 */
export function serviceAllocator(services: Informer<Service>, ranges: ServiceRanges, random: Random): WriteHook {
  const taken = takenBy(services);
  const underway = new Set<string>();
  const isTaken = (what: string): boolean => taken.has(what) || underway.has(what);
  return (write, object, old) => {
    if (write.resource.kind !== "Service" || write.resource.group !== "" || write.subresource === "status")
      return undefined;
    return allocate({ ranges, random, isTaken, underway }, object as Service, old as Service | undefined);
  };
}

interface Pool {
  readonly ranges: ServiceRanges;
  readonly random: Random;
  isTaken(what: string): boolean;
  readonly underway: Set<string>;
}

/** Counted, because for a moment two Services may both say that they have the same. */
function takenBy(services: Informer<Service>): Map<string, number> {
  const taken = new Map<string, number>();
  const count = (service: ApiObject | undefined, by: number): void => {
    for (const what of service ? held(service as Service) : []) {
      const left = (taken.get(what) ?? 0) + by;
      if (left > 0) taken.set(what, left);
      else taken.delete(what);
    }
  };
  services.subscribe((change) => {
    count(change.object, change.type === "put" ? 1 : -1);
    if (change.type === "put") count(change.previous, -1);
  });
  return taken;
}

/** `ip 10.96.0.7`, `tcp 30080`: everything that a Service holds alone. */
function* held({ spec }: Service): Iterable<string> {
  for (const ip of spec.clusterIPs ?? []) if (ip !== "None") yield `ip ${ip}`;
  for (const { nodePort, protocol } of spec.ports ?? []) if (nodePort) yield portKey(protocol, nodePort);
  if (spec.healthCheckNodePort) yield portKey("TCP", spec.healthCheckNodePort);
}
const portKey = (protocol: string, port: number): string => `${protocol.toLowerCase()} ${port}`;

async function allocate(pool: Pool, service: Service, old: Service | undefined): Promise<() => void> {
  const own = new Set(old ? held(old) : []);
  const claimed: string[] = [];
  const claim = (what: string): boolean => {
    if (own.has(what)) return true;
    if (pool.isTaken(what)) return false;
    pool.underway.add(what);
    claimed.push(what);
    return true;
  };
  const release = (): void => {
    for (const what of claimed) pool.underway.delete(what);
  };
  const families = [...settleFamilies(service, old)];
  if (families.length > 0) throw invalid(Service, service.metadata.name ?? "", families);
  const faults = [...claimAddress(pool, service, claim), ...claimPorts(pool, service, claim)];
  if (faults.length > 0) {
    release();
    if (faults.some(({ reason }) => reason === "InternalError")) throw internalError(new Error(faults[0]?.message));
    throw invalid(Service, service.metadata.name ?? "", faults);
  }
  // Called when the write has ended: it then holds what it claimed by itself, or not at all.
  return release;
}

type Claim = (what: string) => boolean;

function* claimAddress({ ranges, random }: Pool, { spec }: Service, claim: Claim): Iterable<FieldError> {
  if (spec.type === "ExternalName" || spec.clusterIP === "None") return;
  const { base, size } = parseCidr(ranges.cidr);
  if (spec.clusterIP) {
    const path = root.child("spec", "clusterIPs");
    const fault = addressFault(spec.clusterIP, ranges.cidr, claim);
    if (fault) yield invalidValue(path, [spec.clusterIP], `failed to allocate IP ${spec.clusterIP}: ${fault}`);
    spec.clusterIPs ??= [spec.clusterIP];
    return;
  }
  // The lower part is left for addresses that people choose.
  const low = Math.min(Math.max(16, size >> 8), 256);
  for (let attempt = 0; attempt < 4096; attempt++) {
    const address = formatIPv4(base + low + Math.floor(random() * (size - low - 1)));
    if (!claim(`ip ${address}`)) continue;
    spec.clusterIP = address;
    spec.clusterIPs = [address];
    return;
  }
  yield internalFault(root.child("spec", "clusterIP"), "failed to allocate a serviceIP: range is full");
}

function addressFault(address: string, cidr: string, claim: Claim): string | undefined {
  const { contains } = parseCidr(cidr);
  if (!contains(address))
    return `the provided IP (${address}) is not in the valid range. The range of valid IPs is ${cidr}`;
  return claim(`ip ${address}`) ? undefined : "provided IP is already allocated";
}

function* claimPorts(pool: Pool, { spec }: Service, claim: Claim): Iterable<FieldError> {
  const wantsPorts =
    spec.type === "NodePort" || (spec.type === "LoadBalancer" && spec.allocateLoadBalancerNodePorts !== false);
  const ports = spec.ports ?? [];
  for (const [index, port] of ports.entries()) {
    if (!wantsPorts && !port.nodePort) continue;
    const path = root.child("spec", "ports").index(index).child("nodePort");
    if (port.nodePort) yield* claimGiven(pool, path, { port: port.nodePort, protocol: port.protocol, claim });
    else port.nodePort = freePort(pool, port.protocol, claim) ?? 0;
    if (!port.nodePort) yield internalFault(path, "failed to allocate a nodePort: range is full");
  }
  if (spec.type === "LoadBalancer" && spec.externalTrafficPolicy === "Local") {
    const path = root.child("spec", "healthCheckNodePort");
    if (spec.healthCheckNodePort)
      yield* claimGiven(pool, path, { port: spec.healthCheckNodePort, protocol: "TCP", claim });
    else spec.healthCheckNodePort = freePort(pool, "TCP", claim) ?? 0;
  }
}

function* claimGiven(
  { ranges }: Pool,
  path: FieldPath,
  { port, protocol, claim }: { port: number; protocol: string; claim: Claim },
): Iterable<FieldError> {
  const { min, max } = ranges.nodePorts;
  if (port < min || port > max) {
    yield invalidValue(
      path,
      port,
      `provided port is not in the valid range. The range of valid ports is ${min}-${max}`,
    );
  } else if (!claim(portKey(protocol, port))) {
    yield invalidValue(path, port, "provided port is already allocated");
  }
}

function freePort({ ranges, random }: Pool, protocol: string, claim: Claim): number | undefined {
  const { min, max } = ranges.nodePorts;
  const span = max - min + 1;
  const start = Math.floor(random() * span);
  for (let i = 0; i < span; i++) {
    const port = min + ((start + i) % span);
    if (claim(portKey(protocol, port))) return port;
  }
  return undefined;
}
