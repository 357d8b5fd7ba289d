import { Service } from "#api/core/service.ts";
import { type Resource } from "#api/resource.ts";
import { referenceTo } from "#client/events.ts";
import { revisionOf } from "#runtime/object-cache.ts";
import { againAfter, type Reconciler, type ReconcilerDeps, watch } from "#runtime/reconciler.ts";
import { BesideRefused } from "#server/objects/beside.ts";
import { type Objects } from "#server/objects/objects.ts";
import { newClaim } from "./claim-objects.ts";
import { nodePortsOf, portKey } from "./held.ts";
import { NodePortClaim } from "./node-port-claim.ts";
import { planPortClaim, planServicePort } from "./plan-repair.ts";
import { repairMs } from "./repair-addresses.ts";
import { type ServiceRanges } from "./service-allocator.ts";

export interface PortRepair {
  /** Claims of ports have no API. */
  readonly objects: Pick<Objects, "commit">;
  readonly range: ServiceRanges["nodePorts"];
}

/** Claims the node ports of services that lack a claim, because they are older than this kind. */
export const repairServicePorts =
  ({ objects, range }: PortRepair) =>
  ({ informers, events, clock }: ReconcilerDeps): Reconciler<Service> => {
    const services = informers.of(Service);
    const claims = informers.of(NodePortClaim);
    return {
      name: "portallocator-repair-controller",
      reconciles: Service,
      resyncMs: repairMs,
      concerns: (service) => nodePortsOf(service).length > 0,
      watches: [watch(NodePortClaim, ({ type, object }) => (type === "delete" ? [object.spec] : []))],

      async reconcile(service, signal) {
        await claims.caughtUpTo(revisionOf(service.metadata.resourceVersion), signal);
        for (const port of nodePortsOf(service)) {
          const claim = claims.get({ name: String(port) });
          const world = { claim, owner: claim && services.get(claim.spec), range };
          const { action, event } = planServicePort(service, port, world);
          if (event) events.event(referenceTo(Service, service), "Warning", event.reason, event.message);
          if (!action) continue;
          if (action === "replace" && claim) await objects.commit({ create: [], remove: [typed(claim)] });
          await objects.commit({ create: [newClaim(portKey(port), service, clock.now())], remove: [] });
        }
      },
    };
  };

/** Removes the claims of ports that no service has. */
export const repairPortClaims =
  ({ objects }: PortRepair) =>
  ({ informers, clock, log }: ReconcilerDeps): Reconciler<NodePortClaim> => {
    const services = informers.of(Service);
    return {
      name: "portallocator-repair-claims",
      reconciles: NodePortClaim,
      resyncMs: repairMs,

      async reconcile(claim, signal) {
        await services.caughtUpTo(revisionOf(claim.metadata.resourceVersion), signal);
        const { action, againMs } = planPortClaim(claim, services.get(claim.spec), clock.now());
        if (action === "delete") {
          log.warn("a node port that no service has is free again", { port: claim.metadata.name, of: claim.spec });
          await objects.commit({ create: [], remove: [typed(claim)] }).catch(ignoreRefused);
        }
        return againAfter(againMs);
      },
    };
  };

const typed = (object: NodePortClaim) => ({ resource: NodePortClaim as unknown as Resource, object });

/** Another server was faster. */
function ignoreRefused(error: unknown): void {
  if (!(error instanceof BesideRefused)) throw error;
}
