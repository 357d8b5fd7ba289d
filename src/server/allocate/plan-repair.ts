import { type Service } from "#api/core/service.ts";
import { ipFamily } from "#api/meta/ip-address.ts";
import { type IPAddress } from "#api/networking/ip-address.ts";
import { ipAllocator, ipFamilyLabel, ipManagedByLabel } from "#api/well-known.ts";
import { isServiceAddress } from "./claim-objects.ts";
import { addressesOf, nodePortsOf } from "./held.ts";
import { type NodePortClaim } from "./node-port-claim.ts";

/** What to do about a claim, and what to tell the user. */
export interface Repair {
  /** `replace` is a deletion and a creation. */
  readonly action?: "create" | "replace" | "delete" | undefined;
  readonly event?: { readonly reason: string; readonly message: string };
  /** Ask again after this time. */
  readonly againMs?: number;
}
const sound: Repair = {};

/** A claim is created with its service, but one by an older or another server may come before it. As upstream. */
const leakMs = 60_000;
const youngMs = 5000;

export interface AddressWorld {
  readonly address: IPAddress | undefined;
  /** Whether any ServiceCIDR contains it. */
  readonly isInRange: boolean;
  /** The service that the IPAddress names. */
  readonly parent: Service | undefined;
}

/** An address of a service. The messages are upstream's. */
export function planServiceAddress({ metadata }: Service, ip: string, world: AddressWorld): Repair {
  const { address, isInRange, parent } = world;
  const family = `[${ipFamily(ip)}]`;
  if (!isInRange) {
    const message = `Cluster IP ${family}: ${ip} is not within any configured Service CIDR; please recreate service`;
    return { event: { reason: "ClusterIPOutOfRange", message } };
  }
  if (!address) {
    const message = `Cluster IP ${family}: ${ip} is not allocated; repairing`;
    return { action: "create", event: { reason: "ClusterIPNotAllocated", message } };
  }
  const { namespace, name } = metadata;
  const isOther = parent?.metadata.namespace !== namespace || parent?.metadata.name !== name;
  if (!isServiceAddress(address) || !parent) {
    const message = `the ClusterIP ${family}: ${ip} for Service ${namespace}/${name} has a wrong reference; repairing`;
    return { action: "replace", event: { reason: "ClusterIPNotAllocated", message } };
  }
  if (isOther && addressesOf(parent).includes(ip)) {
    const message = `Cluster IP ${family}:${ip} was assigned to multiple services; please recreate service`;
    return { event: { reason: "ClusterIPAlreadyAllocated", message } };
  }
  // If the other service does not have it, the IPAddress itself is repaired first.
  return isOther || hasLabels(address) ? sound : { action: "replace" };
}

const hasLabels = ({ metadata: { name, labels } }: IPAddress): boolean =>
  labels?.[ipManagedByLabel] === ipAllocator && labels[ipFamilyLabel] === ipFamily(name);

/** An IPAddress that the allocator has created. */
export function planAddress(address: IPAddress, service: Service | undefined, now: number): Repair {
  const { name, creationTimestamp } = address.metadata;
  const { group = "", resource = "", ...parent } = address.spec.parentRef ?? {};
  if (!isServiceAddress(address)) {
    const { namespace = "", name: of = "" } = parent;
    const reference = `&ParentReference{Group:${group},Resource:${resource},Namespace:${namespace},Name:${of},}`;
    const message = `IPAddress ${name} appears to have been modified, not referencing a Service ${reference}: cleaning up`;
    return { action: "delete", event: { reason: "IPAddressNotAllocated", message } };
  }
  if (service && addressesOf(service).includes(name)) return sound;
  const ageMs = now - Date.parse(creationTimestamp);
  const isYoung =
    service && service.spec.type !== "ExternalName" && creationTimestamp > service.metadata.creationTimestamp;
  const graceMs = !service || service.spec.type === "ExternalName" ? leakMs : isYoung ? youngMs : 0;
  if (ageMs < graceMs) return { againMs: graceMs - ageMs };
  const what = `IPAddress: ${name} for Service ${parent.namespace}/${parent.name}`;
  const event = service
    ? { reason: "IPAddressWrongReference", message: `${what} has a wrong reference; cleaning up` }
    : { reason: "IPAddressNotAllocated", message: `${what} appears to have leaked: cleaning up` };
  return { action: "delete", event };
}

export interface PortWorld {
  readonly claim: NodePortClaim | undefined;
  /** The service that has the claim. */
  readonly owner: Service | undefined;
  readonly range: { readonly min: number; readonly max: number };
}

/** A node port of a service. */
export function planServicePort({ metadata }: Service, port: number, { claim, owner, range }: PortWorld): Repair {
  if (port < range.min || port > range.max) {
    const message = `Port ${port} is not within the port range ${range.min}-${range.max}; please recreate service`;
    return { event: { reason: "PortOutOfRange", message } };
  }
  if (owner && nodePortsOf(owner).includes(port)) {
    if (owner.metadata.namespace === metadata.namespace && owner.metadata.name === metadata.name) return sound;
    const message = `Port ${port} was assigned to multiple services; please recreate service`;
    return { event: { reason: "PortAlreadyAllocated", message } };
  }
  const event = { reason: "PortNotAllocated", message: `Port ${port} is not allocated; repairing` };
  return { action: claim ? "replace" : "create", event };
}

/** The claim of a node port. */
export function planPortClaim({ metadata }: NodePortClaim, owner: Service | undefined, now: number): Repair {
  if (owner && nodePortsOf(owner).some((port) => String(port) === metadata.name)) return sound;
  const ageMs = now - Date.parse(metadata.creationTimestamp);
  return ageMs < leakMs ? { againMs: leakMs - ageMs } : { action: "delete" };
}
