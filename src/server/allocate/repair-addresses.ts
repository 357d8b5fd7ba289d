import { Service } from "#api/core/service.ts";
import { IPAddress } from "#api/networking/ip-address.ts";
import { parseIpRange } from "#api/networking/ip-range.ts";
import { ServiceCIDR } from "#api/networking/service-cidr.ts";
import { ignoreNotFound, isAlreadyExists } from "#api/status.ts";
import { ipAllocator, ipManagedByLabel } from "#api/well-known.ts";
import { referenceTo } from "#client/events.ts";
import { type Informer } from "#runtime/informer.ts";
import { revisionOf } from "#runtime/object-cache.ts";
import { againAfter, type Reconciler, type ReconcilerDeps, type Wake, watch } from "#runtime/reconciler.ts";
import { addressOf } from "./claim-objects.ts";
import { addressesOf } from "./held.ts";
import { planAddress, planServiceAddress } from "./plan-repair.ts";

/** As upstream, also without a change. */
export const repairMs = 180_000;

/** Creates the IPAddresses that services lack: of services that are older than this kind, or because somebody deleted them. */
export function repairServiceAddresses({ client, informers, events }: ReconcilerDeps): Reconciler<Service> {
  const services = informers.of(Service);
  const addresses = informers.of(IPAddress);
  const cidrs = informers.of(ServiceCIDR);
  return {
    name: "ipallocator-repair-controller",
    reconciles: Service,
    resyncMs: repairMs,
    concerns: (service) => addressesOf(service).length > 0,
    watches: [
      watch(IPAddress, (change) => {
        if (change.type === "put" && !change.previous) return [];
        return services.by("clusterIP", change.object.metadata.name).map(({ metadata }) => metadata);
      }),
    ],

    async reconcile(service, signal) {
      await addresses.caughtUpTo(revisionOf(service.metadata.resourceVersion), signal);
      for (const ip of addressesOf(service)) {
        const address = addresses.get({ name: ip });
        const parent = address && services.get(parentOf(address));
        const world = { address, parent, isInRange: isInRange(cidrs, ip) };
        const { action, event } = planServiceAddress(service, ip, world);
        if (event) events.event(referenceTo(Service, service), "Warning", event.reason, event.message);
        if (action === "replace") await client.delete(IPAddress, { name: ip }, { signal }).catch(ignoreNotFound);
        if (action) await client.create(IPAddress, addressOf(ip, service), { signal }).catch(ignoreExisting);
      }
    },
  };
}

/** Deletes the IPAddresses that no service has, if the allocator has created them. */
export function repairIPAddresses({ client, informers, events, clock }: ReconcilerDeps): Reconciler<IPAddress> {
  const services = informers.of(Service);
  return {
    name: "ipallocator-repair-addresses",
    reconciles: IPAddress,
    resyncMs: repairMs,
    concerns: ({ metadata }) => metadata.labels?.[ipManagedByLabel] === ipAllocator,
    watches: [
      watch(Service, (change) => {
        const before = change.type === "delete" ? change.object : change.previous;
        const kept = new Set(change.type === "delete" ? [] : addressesOf(change.object));
        return (before ? addressesOf(before) : []).flatMap((name) => (kept.has(name) ? [] : { name }));
      }),
    ],

    async reconcile(address, signal) {
      const { name, resourceVersion } = address.metadata;
      await services.caughtUpTo(revisionOf(resourceVersion), signal);
      const { action, event, againMs } = planAddress(address, services.get(parentOf(address)), clock.now());
      if (event) events.event(referenceTo(IPAddress, address), "Warning", event.reason, event.message);
      if (action === "delete") {
        const options = { signal, preconditions: { resourceVersion } };
        await client.delete(IPAddress, { name }, options).catch(ignoreNotFound);
      }
      return againAfter(againMs);
    },
  };
}

const parentOf = ({ spec: { parentRef } }: IPAddress): Wake => ({
  namespace: parentRef?.namespace ?? "",
  name: parentRef?.name ?? "",
});

const isInRange = (cidrs: Informer<ServiceCIDR>, ip: string): boolean =>
  cidrs.list().some(({ spec }) => spec.cidrs?.some((cidr) => parseIpRange(cidr)?.isUsable(ip)));

/** Another server was faster. */
function ignoreExisting(error: unknown): void {
  if (!isAlreadyExists(error)) throw error;
}
