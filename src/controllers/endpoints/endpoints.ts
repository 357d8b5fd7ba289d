import { Pod } from "#api/core/pod.ts";
import { Endpoints } from "#api/core/service/endpoints.ts";
import { Service } from "#api/core/service.ts";
import { type InputOf } from "#api/resource.ts";
import { ignoreNotFound } from "#api/status.ts";
import { endpointsManagedByLabel, leaderAnnotation } from "#api/well-known.ts";
import { referenceTo } from "#client/events.ts";
import { followPods } from "#controllers/endpoint-slice/follow-pods.ts";
import { TriggerTimes } from "#controllers/endpoint-slice/trigger-times.ts";
import { isNamespaceEnding } from "#controllers/shared/namespace-ending.ts";
import { Selections } from "#controllers/shared/selections.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { type Change } from "#runtime/informer.ts";
import { againAfter, type Reconciler, type ReconcilerDeps, type Wake, watch } from "#runtime/reconciler.ts";
import { Pace } from "../pace.ts";
import { manager, planEndpoints } from "./plan-endpoints.ts";

/** Maintains, for every service with a selector, one Endpoints object, for clients that do not know slices. */
export function endpointsController(deps: ReconcilerDeps): Reconciler<Service> {
  const { informers, client, clock, log } = deps;
  const endpoints = informers.of(Endpoints);
  const services = informers.of(Service);
  const selections = new Selections(services, informers.of(Pod));
  const isLeftover = ({ metadata }: Endpoints): boolean =>
    metadata.annotations?.[leaderAnnotation] === undefined && !services.get(metadata);
  const triggerTimes = new TriggerTimes();
  const pace = new Pace(clock);
  return {
    name: "endpoints",
    reconciles: Service,
    watches: [watch(Endpoints, ours)],
    follow(wake) {
      // Those whose service was deleted while nobody looked.
      const wakeLeftovers = async (): Promise<void> => {
        await endpoints.synced();
        for (const one of endpoints.list().filter(isLeftover)) wake(one.metadata);
      };
      wakeLeftovers().catch((error: unknown) => log.warn("Endpoints without a service may stay", { error }));
      return followPods(selections, wake);
    },

    async reconcile(service, signal) {
      const { selector, type } = service.spec;
      if (type === "ExternalName" || !selector || Object.keys(selector).length === 0) return;
      const waitMs = pace.waitMs(service);
      if (waitMs > 0) return againAfter(waitMs);
      const pods = selections.podsOf(service);
      const current = endpoints.get(service.metadata);
      const next = planEndpoints(service, { pods, current, time: triggerTimes.next(service, pods) });
      if (next) await write(deps, { service, next, isNew: !current }, signal);
      pace.settled(service, pods.length);
      return undefined;
    },
    /** Also those that the service's owner has written, as upstream. */
    async gone(ref, signal) {
      triggerTimes.forget(ref);
      pace.forget(ref);
      if (endpoints.get(ref)) await client.delete(Endpoints, ref, { signal }).catch(ignoreNotFound);
    },
  };
}

interface EndpointsWrite {
  readonly service: Service;
  readonly next: InputOf<Endpoints>;
  readonly isNew: boolean;
}

async function write(
  { client, events }: ReconcilerDeps,
  { service, next, isNew }: EndpointsWrite,
  signal: AbortSignal,
): Promise<void> {
  try {
    if (isNew) await client.create(Endpoints, next, { signal });
    else await client.update(Endpoints, next, { signal });
  } catch (error) {
    if (signal.aborted || (isNew && isNamespaceEnding(error))) {
      signal.throwIfAborted();
      return;
    }
    const { namespace, name } = service.metadata;
    const [reason, what] = isNew
      ? ["FailedToCreateEndpoint", `Failed to create endpoint for service ${namespace}/${name}`]
      : ["FailedToUpdateEndpoint", `Failed to update endpoint ${namespace}/${name}`];
    events.event(
      referenceTo(Endpoints, { metadata: { namespace, name } }),
      "Warning",
      reason,
      `${what}: ${messageOf(error)}`,
    );
    throw error;
  }
}

/** What this controller wrote is repaired; what somebody deletes is created again, if a service needs it. */
function* ours({ type, object }: Change<Endpoints>): Iterable<Wake> {
  const { namespace, name, labels } = object.metadata;
  if (type === "delete" || labels?.[endpointsManagedByLabel] === manager) yield { namespace, name };
}
