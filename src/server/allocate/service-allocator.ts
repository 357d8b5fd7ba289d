import { Service } from "#api/core/service.ts";
import { type ApiObject } from "#api/resource.ts";
import { internalError, invalid } from "#api/status.ts";
import { type Random } from "#lib/data/random.ts";
import { formatIPv4, parseCidr } from "#lib/net/ip.ts";
import { type Informer } from "#runtime/informer.ts";
import { type FieldError, type FieldPath, internalFault, invalidValue, root } from "#schema/field-error.ts";
import { type WriteHook } from "#server/write/write.ts";
import { settleFamilies } from "./service-families.ts";

export interface ServiceRanges {
  /** The range of cluster addresses: `10.96.0.0/16`. */
  readonly cidr: string;
  readonly nodePorts: { readonly min: number; readonly max: number };
}
export const defaultServiceRanges: ServiceRanges = { cidr: "10.96.0.0/16", nodePorts: { min: 30000, max: 32767 } };

/**
 * Gives Services their cluster address and node ports before they are written. The existing Services say what is taken;
 * what a pending write has claimed is kept in addition until the write is seen or has failed.
 */
export function serviceAllocator(services: Informer<Service>, ranges: ServiceRanges, random: Random): WriteHook {
  const taken = takenBy(services);
  const underway = new Set<string>();
  const isTaken = (what: string): boolean => taken.has(what) || underway.has(what);
  return (write, object, old) => {
    if (write.resource.schema !== Service.schema || write.subresource === "status") return undefined;
    return allocate({ ranges, random, isTaken, underway }, object as Service, old as Service | undefined);
  };
}

interface Pool {
  readonly ranges: ServiceRanges;
  readonly random: Random;
  isTaken(what: string): boolean;
  readonly underway: Set<string>;
}

/** Counted, because two Services may have the same value for a moment. */
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

/**
 * `ip 10.96.0.7`, `port 30080`: everything that a Service holds exclusively. TCP and UDP of a node port count as one.
 */
function* held({ spec }: Service): Iterable<string> {
  for (const ip of spec.clusterIPs ?? []) if (ip !== "None") yield ipKey(ip);
  const ports = new Set((spec.ports ?? []).map(({ nodePort }) => nodePort).filter(Boolean));
  if (spec.healthCheckNodePort) ports.add(spec.healthCheckNodePort);
  for (const port of ports) yield portKey(port ?? 0);
}
const ipKey = (address: string): string => `ip ${address}`;
const portKey = (port: number): string => `port ${port}`;

/** The claims of one write. What its Service already has needs no claim. */
class Claims {
  readonly #pool: Pool;
  readonly #own: ReadonlySet<string>;
  readonly #claimed = new Set<string>();

  constructor(pool: Pool, old: Service | undefined) {
    this.#pool = pool;
    this.#own = new Set(old ? held(old) : []);
  }
  has(what: string): boolean {
    return this.#own.has(what) || this.#claimed.has(what);
  }
  take(what: string): boolean {
    if (this.has(what)) return true;
    return this.takeNew(what);
  }
  takeNew(what: string): boolean {
    if (this.has(what) || this.#pool.isTaken(what)) return false;
    this.#pool.underway.add(what);
    this.#claimed.add(what);
    return true;
  }
  release(): void {
    for (const what of this.#claimed) this.#pool.underway.delete(what);
  }
}

async function allocate(pool: Pool, service: Service, old: Service | undefined): Promise<() => void> {
  const name = service.metadata.name;
  const families = [...settleFamilies(service, old)];
  if (families.length > 0) throw invalid(Service, name, families);
  const claims = new Claims(pool, old);
  const faults = [...claimAddress(pool, service, claims), ...claimPorts(pool, service, claims)];
  if (faults.length > 0) {
    claims.release();
    if (faults.some(({ reason }) => reason === "InternalError")) throw internalError(new Error(faults[0]?.message));
    throw invalid(Service, name, faults);
  }
  // Called when the write has ended: either the Service holds what was claimed, or nobody does.
  return () => claims.release();
}

function* claimAddress({ ranges, random }: Pool, { spec }: Service, claims: Claims): Iterable<FieldError> {
  if (spec.type === "ExternalName" || spec.clusterIP === "None") return;
  if (spec.clusterIP) {
    const fault = addressFault(spec.clusterIP, ranges.cidr, claims);
    const path = root.child("spec", "clusterIPs");
    if (fault) yield invalidValue(path, [spec.clusterIP], `failed to allocate IP ${spec.clusterIP}: ${fault}`);
    spec.clusterIPs ??= [spec.clusterIP];
    return;
  }
  const { base, size } = parseCidr(ranges.cidr);
  // The first and the last address of a network are reserved.
  const span = { min: 1, max: size - 2, low: lowPart(size, { step: 16, max: 256 }) };
  const at = findFree(span, random, (offset) => claims.takeNew(ipKey(formatIPv4(base + offset))));
  if (at === undefined) {
    yield internalFault(root.child("spec", "clusterIP"), "failed to allocate a serviceIP: range is full");
    return;
  }
  spec.clusterIP = formatIPv4(base + at);
  spec.clusterIPs = [spec.clusterIP];
}

function addressFault(address: string, cidr: string, claims: Claims): string | undefined {
  if (claims.has(ipKey(address))) return undefined;
  const { base, size, contains } = parseCidr(cidr);
  const isReserved = address === formatIPv4(base) || address === formatIPv4(base + size - 1);
  if (!contains(address)) return "the provided network does not match the current range";
  if (isReserved) return `the provided IP (${address}) is not in the valid range. The range of valid IPs is ${cidr}`;
  return claims.take(ipKey(address)) ? undefined : "provided IP is already allocated";
}

function* claimPorts(pool: Pool, { spec }: Service, claims: Claims): Iterable<FieldError> {
  const wantsPorts =
    spec.type === "NodePort" || (spec.type === "LoadBalancer" && spec.allocateLoadBalancerNodePorts !== false);
  const ports = spec.ports ?? [];
  /** The same port over TCP and UDP is one port on the nodes. */
  const byPort = new Map(ports.filter(({ nodePort }) => nodePort).map(({ port, nodePort }) => [port, nodePort]));
  for (const [index, port] of ports.entries()) {
    if (!wantsPorts && !port.nodePort) continue;
    const path = root.child("spec", "ports").index(index).child("nodePort");
    const nodePort = port.nodePort || byPort.get(port.port);
    if (nodePort) yield* claimGiven(pool, path, { port: nodePort, claims });
    port.nodePort = nodePort || (freePort(pool, claims) ?? 0);
    byPort.set(port.port, port.nodePort);
    if (!port.nodePort) yield internalFault(path, "failed to allocate a nodePort: range is full");
  }
  if (spec.type !== "LoadBalancer" || spec.externalTrafficPolicy !== "Local") return;
  const path = root.child("spec", "healthCheckNodePort");
  if (spec.healthCheckNodePort) yield* claimGiven(pool, path, { port: spec.healthCheckNodePort, claims });
  else spec.healthCheckNodePort = freePort(pool, claims) ?? 0;
}

function* claimGiven(
  { ranges }: Pool,
  path: FieldPath,
  { port, claims }: { port: number; claims: Claims },
): Iterable<FieldError> {
  const { min, max } = ranges.nodePorts;
  if (claims.has(portKey(port))) return;
  if (port < min || port > max) {
    const detail = `provided port is not in the valid range. The range of valid ports is ${min}-${max}`;
    yield invalidValue(path, port, detail);
  } else if (!claims.take(portKey(port))) {
    yield invalidValue(path, port, "provided port is already allocated");
  }
}

function freePort({ ranges, random }: Pool, claims: Claims): number | undefined {
  const { min, max } = ranges.nodePorts;
  const low = lowPart(max - min + 1, { step: 32, max: 128 });
  return findFree({ min, max, low }, random, (port) => claims.takeNew(portKey(port)));
}

/** The part of a range that is reserved for users' own choices, as long as there is another free value. */
const lowPart = (size: number, { step, max }: { step: number; max: number }): number =>
  size <= 16 ? 0 : Math.min(Math.max(16, Math.floor(size / step)), max);

/**
 * Searches upwards from a random place in the upper part and wraps around; uses the lower part when the upper one is
 * full.
 */
function findFree(
  { min, max, low }: { min: number; max: number; low: number },
  random: Random,
  take: (at: number) => boolean,
): number | undefined {
  for (const [from, to] of [
    [min + low, max],
    [min, min + low - 1],
  ] as const) {
    const span = to - from + 1;
    const start = Math.floor(random() * span);
    for (let i = 0; i < span; i++) {
      const at = from + ((start + i) % span);
      if (take(at)) return at;
    }
  }
  return undefined;
}
