import { Endpoints } from "#api/core/service/endpoints.ts";
import { Service } from "#api/core/service.ts";
import { EndpointSlice } from "#api/discovery/endpoint-slice.ts";
import { ignoreNotFound } from "#api/status.ts";
import { leaderAnnotation, managedByLabel, serviceNameLabel, skipMirrorLabel } from "#api/well-known.ts";
import { isNamespaceEnding } from "#controllers/shared/namespace-ending.ts";
import { type Change } from "#runtime/informer.ts";
import { type Reconciler, type ReconcilerDeps, type Wake, watch } from "#runtime/reconciler.ts";
import { type MirrorPlan, manager, maxPerSubset, planMirror } from "./plan-mirror.ts";

/** Copies the Endpoints that users write for services without a selector into slices. */
export function endpointSliceMirroringController(deps: ReconcilerDeps): Reconciler<Endpoints> {
  const { informers } = deps;
  const services = informers.of(Service);
  const slices = informers.of(EndpointSlice);
  const mirrorsOf = (namespace: string, name: string): EndpointSlice[] =>
    slices.by("service", `${namespace}/${name}`).filter(isMirror);
  return {
    name: "endpointslice-mirroring",
    reconciles: Endpoints,
    watches: [watch(Service, servicesThatMatter), watch(EndpointSlice, mirrored)],

    async reconcile(endpoints, signal) {
      const { namespace, name } = endpoints.metadata;
      const existing = mirrorsOf(namespace, name);
      const service = services.get({ namespace, name });
      if (!isMirrored(endpoints) || !service || hasSelector(service)) {
        await removeAll(deps, existing, signal);
        return;
      }
      const plan = planMirror(endpoints, existing);
      report(deps, endpoints, plan);
      await carryOut(deps, { endpoints, plan }, signal);
    },
    async gone({ namespace, name }, signal) {
      await removeAll(deps, mirrorsOf(namespace, name), signal);
    },
  };
}

const isMirror = ({ metadata: { labels, deletionTimestamp } }: EndpointSlice): boolean =>
  labels?.[managedByLabel] === manager && !deletionTimestamp;

const isMirrored = ({ metadata: { labels, annotations } }: Endpoints): boolean =>
  labels?.[skipMirrorLabel] !== "true" && annotations?.[leaderAnnotation] === undefined;

const hasSelector = ({ spec }: Service): boolean => Object.keys(spec.selector ?? {}).length > 0;

/** Events in upstream's words. */
function report({ events }: ReconcilerDeps, endpoints: Endpoints, { invalid, surplus }: MirrorPlan): void {
  if (invalid > 0) {
    const message = `Skipped ${invalid} invalid IP addresses when mirroring to EndpointSlices`;
    events.event(endpoints, "Warning", "InvalidIPAddress", message);
  }
  if (surplus > 0) {
    const most = `A max of ${maxPerSubset} addresses can be mirrored to EndpointSlices per Endpoints subset.`;
    events.event(
      endpoints,
      "Warning",
      "TooManyAddressesToMirror",
      `${most} ${invalid + surplus} addresses were skipped`,
    );
  }
}

async function carryOut(
  { client }: ReconcilerDeps,
  { endpoints, plan }: { readonly endpoints: Endpoints; readonly plan: MirrorPlan },
  signal: AbortSignal,
): Promise<void> {
  for (const slice of endpoints.metadata.deletionTimestamp ? [] : plan.create) {
    try {
      await client.create(EndpointSlice, slice, { signal });
    } catch (error) {
      if (isNamespaceEnding(error)) return;
      throw error;
    }
  }
  for (const slice of plan.update) await client.update(EndpointSlice, slice, { signal });
  await removeAll({ client }, plan.remove, signal);
}

async function removeAll(
  { client }: Pick<ReconcilerDeps, "client">,
  slices: readonly EndpointSlice[],
  signal: AbortSignal,
): Promise<void> {
  for (const slice of slices) await client.delete(EndpointSlice, slice, { signal }).catch(ignoreNotFound);
}

/** Services without a selector, and those that had none. */
function* servicesThatMatter(change: Change<Service>): Iterable<Wake> {
  const { namespace, name } = change.object.metadata;
  const previous = change.type === "put" ? change.previous : undefined;
  const [has, had] = [hasSelector(change.object), previous && hasSelector(previous)];
  if (previous ? has !== had : !has) yield { namespace, name };
}

/** A slice that somebody else changed or deleted is repaired. */
function* mirrored(change: Change<EndpointSlice>): Iterable<Wake> {
  const previous = change.type === "put" ? change.previous : undefined;
  for (const slice of previous ? [change.object, previous] : [change.object]) {
    const { namespace, labels } = slice.metadata;
    const name = labels?.[serviceNameLabel];
    if (name && labels?.[managedByLabel] === manager) yield { namespace, name };
  }
}
