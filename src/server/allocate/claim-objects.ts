import { type Service } from "#api/core/service.ts";
import { ipFamily } from "#api/meta/ip-address.ts";
import { IPAddress } from "#api/networking/ip-address.ts";
import { type ApiObject, apiVersionOf, type InputOf, type Resource } from "#api/resource.ts";
import { ipAllocator, ipFamilyLabel, ipManagedByLabel } from "#api/well-known.ts";
import { timestamp } from "#lib/async/clock.ts";
import { type Informer } from "#runtime/informer.ts";
import { type Typed } from "#server/objects/beside.ts";
import { isIpKey, type Key, nameOfClaim } from "./held.ts";
import { NodePortClaim } from "./node-port-claim.ts";

/** The objects that say what is taken. */
export interface ClaimInformers {
  readonly addresses: Informer<IPAddress>;
  readonly ports: Informer<NodePortClaim>;
}

type ServiceName = Pick<Service["metadata"], "namespace" | "name">;

/** The object that claims a key for a service, complete as the store keeps it. */
export function newClaim(key: Key, { metadata }: { readonly metadata: ServiceName }, now: number): Typed {
  const { namespace, name } = metadata;
  const time = timestamp(now);
  if (!isIpKey(key)) {
    const object = { metadata: { name: nameOfClaim(key), creationTimestamp: time }, spec: { namespace, name } };
    return { resource: portClaims, object: stamped(portClaims, object) };
  }
  const { metadata: labelled, spec } = addressOf(nameOfClaim(key), { metadata });
  const object = { metadata: { ...labelled, creationTimestamp: time, managedFields: [{ ...managed, time }] }, spec };
  return { resource: addresses, object: stamped(addresses, object) };
}

/** The IPAddress of a service. */
export const addressOf = (
  address: string,
  { metadata: { namespace, name } }: { readonly metadata: ServiceName },
): InputOf<IPAddress> => ({
  metadata: {
    name: address,
    labels: { [ipFamilyLabel]: ipFamily(address) ?? "IPv4", [ipManagedByLabel]: ipAllocator },
  },
  spec: { parentRef: { resource: "services", namespace, name } },
});

/** The object that claims a key for this service; undefined if there is none, or another service has it. */
export function claimOf(claims: ClaimInformers, key: Key, service: Service): Typed | undefined {
  const name = nameOfClaim(key);
  if (!isIpKey(key)) {
    const claim = claims.ports.get({ name });
    return claim && isFor(claim.spec, service) ? { resource: portClaims, object: claim } : undefined;
  }
  const address = claims.addresses.get({ name });
  const isOurs = address && isServiceAddress(address) && isFor(address.spec.parentRef ?? {}, service);
  // One with finalizers must be deleted by the usual way, which is left to the repair.
  return isOurs && !address.metadata.finalizers?.length ? { resource: addresses, object: address } : undefined;
}

/** Whether it belongs to a service. */
export const isServiceAddress = ({ spec }: IPAddress): boolean =>
  !spec.parentRef?.group && spec.parentRef?.resource === "services";

const isFor = (parent: { namespace?: string; name?: string }, { metadata }: Service): boolean =>
  parent.namespace === metadata.namespace && parent.name === metadata.name;

const addresses = IPAddress as unknown as Resource;
const portClaims = NodePortClaim as unknown as Resource;

const stamped = (resource: Resource, object: object): ApiObject =>
  ({ kind: resource.kind, apiVersion: apiVersionOf(resource), ...object }) as ApiObject;

/** The server sets the same fields of each IPAddress. */
const managed = {
  manager: "kube-apiserver",
  operation: "Update",
  apiVersion: "networking.k8s.io/v1",
  fieldsType: "FieldsV1",
  fieldsV1: {
    "f:metadata": { "f:labels": { ".": {}, [`f:${ipFamilyLabel}`]: {}, [`f:${ipManagedByLabel}`]: {} } },
    "f:spec": {
      "f:parentRef": { ".": {}, "f:name": {}, "f:namespace": {}, "f:resource": {} },
    },
  },
};
