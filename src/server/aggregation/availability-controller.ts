import { APIService, isAvailable } from "#api/apiregistration/api-service.ts";
import { Service } from "#api/core/service.ts";
import { EndpointSlice } from "#api/discovery/endpoint-slice.ts";
import { ignoreNotFound, isConflict } from "#api/status.ts";
import { serviceNameLabel } from "#api/well-known.ts";
import { timestamp } from "#lib/async/clock.ts";
import { equal } from "#lib/data/equal.ts";
import { type Counter, type Metrics } from "#lib/process/metrics.ts";
import { againAfter, type Reconciler, type ReconcilerDeps, watch } from "#runtime/reconciler.ts";
import { passed, planAvailability, type Surroundings, type Verdict, withVerdict } from "./plan-availability.ts";
import { probe } from "./probe.ts";
import { type RemoteApi, type ServiceRef } from "./remote-api.ts";
import { isRemote, type RemoteApis } from "./remote-apis.ts";

/** The network may fail without any object changing. */
const recheckMs = 30_000;
const firstRetryMs = 500;

export interface AvailabilityDeps {
  readonly apis: RemoteApis;
  readonly metrics: Metrics;
}

/** Says in the status of APIServices whether their servers answer. */
export const availabilityController =
  ({ apis, metrics }: AvailabilityDeps) =>
  (deps: ReconcilerDeps): Reconciler<APIService> => {
    const retries = new Map<string, number>();
    const help = "APIServices that became unavailable, by name and reason.";
    const lost = metrics.counter("aggregator_unavailable_apiservice_total", help, ["name", "reason"]);
    const wake = (service: Pick<ServiceRef, "namespace" | "name">) => apis.servedBy(service).map((name) => ({ name }));
    return {
      name: "apiservice-availability",
      reconciles: APIService,
      concerns: isRemote,
      watches: [
        watch(Service, ({ object: { metadata } }) => wake(metadata)),
        watch(EndpointSlice, ({ object: { metadata } }) =>
          wake({ namespace: metadata.namespace, name: metadata.labels?.[serviceNameLabel] ?? "" }),
        ),
      ],

      async reconcile(object, signal) {
        const { name } = object.metadata;
        const api = apis.get(name);
        if (!api) return undefined;
        const verdict = planAvailability(api.service, around(deps, api.service)) ?? (await ask(deps, api, signal));
        await write({ ...deps, lost }, { object, verdict }, signal);
        if (verdict.reason !== "FailedDiscoveryCheck") {
          retries.delete(name);
          return againAfter(recheckMs);
        }
        const retryMs = Math.min(retries.get(name) ?? firstRetryMs, recheckMs);
        retries.set(name, retryMs * 2);
        return againAfter(retryMs);
      },

      async gone({ name }) {
        retries.delete(name);
      },
    };
  };

function around({ informers }: ReconcilerDeps, { namespace, name }: ServiceRef): Surroundings {
  const slices = informers.of(EndpointSlice).list(namespace);
  return {
    service: informers.of(Service).get({ namespace, name }),
    slices: slices.filter(({ metadata }) => metadata.labels?.[serviceNameLabel] === name),
  };
}

async function ask({ clock }: ReconcilerDeps, api: RemoteApi, signal: AbortSignal): Promise<Verdict> {
  const fault = await probe(api, { clock, signal });
  return fault === undefined ? passed : { status: "False", reason: "FailedDiscoveryCheck", message: fault };
}

interface Judged {
  readonly object: APIService;
  readonly verdict: Verdict;
}

async function write(
  { client, clock, lost }: ReconcilerDeps & { readonly lost: Counter },
  { object, verdict }: Judged,
  signal: AbortSignal,
): Promise<void> {
  const status = withVerdict(object.status, verdict, timestamp(clock.now()));
  if (equal(status, object.status)) return;
  if (isAvailable(object) && verdict.status !== "True") lost.add([object.metadata.name, verdict.reason]);
  await client.updateStatus(APIService, { ...object, status }, { signal }).catch((error: unknown) => {
    // Whoever has changed it meanwhile also wakes this controller.
    if (!isConflict(error)) return ignoreNotFound(error);
    return undefined;
  });
}
