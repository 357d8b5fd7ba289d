import { Service } from "#api/core/service.ts";
import { type IPAddress } from "#api/networking/ip-address.ts";
import { type ServiceCIDR } from "#api/networking/service-cidr.ts";
import { invalid } from "#api/status.ts";
import { type Clock } from "#lib/async/clock.ts";
import { type Random } from "#lib/data/random.ts";
import { type Informer } from "#runtime/informer.ts";
import { type FieldError } from "#schema/field-error.ts";
import { type Claim, type WriteDeps, type WriteHook } from "#server/write/write.ts";
import { claimAddresses } from "./claim-addresses.ts";
import { claimPorts } from "./claim-ports.ts";
import { Claims, heldByServices, type Pool, releasesOf } from "./claims.ts";
import { type NodePortClaim } from "./node-port-claim.ts";
import { settleFamilies } from "./service-families.ts";
import { usableRanges } from "./usable-ranges.ts";

export interface ServiceRanges {
  /** The ranges of cluster addresses, at most one of each IP family: `10.96.0.0/16`. The first is the default. */
  readonly cidrs: readonly string[];
  readonly nodePorts: { readonly min: number; readonly max: number };
}
export const defaultServiceRanges: ServiceRanges = { cidrs: ["10.96.0.0/16"], nodePorts: { min: 30000, max: 32767 } };

export interface AllocatorDeps {
  readonly services: Informer<Service>;
  readonly addresses: Informer<IPAddress>;
  readonly ports: Informer<NodePortClaim>;
  readonly cidrs: Informer<ServiceCIDR>;
  readonly ranges: ServiceRanges;
  readonly random: Random;
  readonly clock: Clock;
}

export interface ServiceAllocator {
  readonly hook: WriteHook;
  readonly besideRemoved: WriteDeps["besideRemoved"];
}

/**
 * Gives Services their cluster addresses and node ports. Each of them is claimed by an object of its own, which the
 * store accepts only once and which is written and removed together with the Service. So two servers never give away
 * the same one, and none is lost or left over when a server dies.
 */
export function serviceAllocator({ services, cidrs, ranges, ...claims }: AllocatorDeps): ServiceAllocator {
  const pool: Pool = {
    ...claims,
    ranges: usableRanges(cidrs, ranges.cidrs),
    nodePorts: ranges.nodePorts,
    held: heldByServices(services),
    underway: new Set(),
  };
  return {
    hook(write, object, old) {
      if (write.resource.schema !== Service.schema || write.subresource === "status") return undefined;
      return allocate(pool, object as Service, old as Service | undefined);
    },
    besideRemoved(resource, object) {
      if (resource.schema !== Service.schema) return undefined;
      const remove = releasesOf(pool, object as Service);
      return remove.length > 0 ? { create: [], remove } : undefined;
    },
  };
}

async function* claimAll(pool: Pool, service: Service, claims: Claims): AsyncGenerator<FieldError> {
  yield* claimAddresses(pool, service, claims);
  yield* claimPorts(pool, service, claims);
}

async function allocate(pool: Pool, service: Service, old: Service | undefined): Promise<Claim> {
  const name = service.metadata.name;
  const families = [...settleFamilies(service, old, pool.ranges.families)];
  if (families.length > 0) throw invalid(Service, name, families);
  const claims = new Claims(pool, old);
  try {
    // As upstream, only the first is told.
    for await (const fault of claimAll(pool, service, claims)) throw invalid(Service, name, [fault]);
    return { beside: claims.beside(service), undo: () => claims.undo(), end: () => claims.release() };
  } catch (error) {
    claims.release();
    throw error;
  }
}
