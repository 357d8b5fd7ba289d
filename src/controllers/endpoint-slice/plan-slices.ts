import { Service } from "#api/core/service.ts";
import { type Endpoint, type EndpointPort, type EndpointSlice } from "#api/discovery/endpoint-slice.ts";
import { ownerRefTo } from "#api/meta/owner.ts";
import { type InputOf } from "#api/resource.ts";
import { headlessLabel, managedByLabel, serviceNameLabel } from "#api/well-known.ts";
import { equal } from "#lib/data/equal.ts";
import { type AddressType, endpointKey, isHeadless, type PortGroup, portsKey } from "./endpoints-of.ts";

export const manager = "endpointslice-controller.k8s.io";

/** The maximum number of endpoints in one slice. */
const maxEndpoints = 100;

export interface SlicePlan {
  readonly create: InputOf<EndpointSlice>[];
  readonly update: EndpointSlice[];
  readonly remove: EndpointSlice[];
}

/** A slice as it will be; `from` is its current state, if it exists. */
interface Draft {
  readonly from: EndpointSlice | undefined;
  readonly ports: readonly EndpointPort[];
  readonly endpoints: Endpoint[];
  changed: boolean;
  /** It is kept although it is empty. */
  readonly isPlaceholder?: boolean;
}

/**
 * Decides how the slices of one address type get the endpoints with as few writes as possible: every endpoint stays in
 * its slice. New ones go into slices that change anyway, or else into one slice with room for all of them, or else into
 * new slices.
 */
export function planSlices(
  service: Service,
  groups: ReadonlyMap<string, PortGroup>,
  { type, slices }: { readonly type: AddressType; readonly slices: readonly EndpointSlice[] },
): SlicePlan {
  const own = slices.filter((slice) => isOwnedBy(slice, service));
  const remove = slices.filter((slice) => !own.includes(slice));
  const byPorts = Map.groupBy(own, ({ ports }) => portsKey(ports));
  const drafts: Draft[] = [];
  for (const [key, group] of groups) drafts.push(...draftsFor(group, byPorts.get(key) ?? []));
  for (const [key, unwanted] of byPorts) {
    if (!groups.has(key)) drafts.push(...unwanted.map((from) => ({ from, ports: [], endpoints: [], changed: true })));
  }
  reuse(drafts);
  keepOne(drafts, own);
  return writes(service, { type, drafts, remove });
}

function isOwnedBy({ metadata }: EndpointSlice, service: Service): boolean {
  const references = metadata.ownerReferences ?? [];
  return references.some(
    ({ uid, kind, apiVersion }) => uid === service.metadata.uid && kind === "Service" && apiVersion === "v1",
  );
}

function draftsFor({ ports, endpoints }: PortGroup, slices: readonly EndpointSlice[]): Draft[] {
  const left = new Map(endpoints);
  const drafts = slices.map((from) => keepWanted(from, ports, left));
  const fillable = drafts.filter(({ changed, endpoints: kept }) => changed && kept.length > 0);
  for (const draft of fillable.sort(fullestFirst)) fill(draft, left);
  while (left.size > 0) {
    const roomy = fullestWithRoom(drafts, left.size);
    const draft = roomy ?? { from: undefined, ports, endpoints: [], changed: true };
    fill(draft, left);
    if (!roomy) drafts.push(draft);
  }
  return drafts;
}

/** The endpoints of the slice that are still wanted, updated; they are removed from `left`. */
function keepWanted(from: EndpointSlice, ports: readonly EndpointPort[], left: Map<string, Endpoint>): Draft {
  const draft: Draft = { from, ports, endpoints: [], changed: false };
  for (const old of from.endpoints) {
    const key = endpointKey(old);
    const endpoint = left.get(key);
    if (!endpoint || !equal(endpoint, old)) draft.changed = true;
    if (!endpoint) continue;
    draft.endpoints.push(endpoint);
    left.delete(key);
  }
  return draft;
}

const fullestFirst = (a: Draft, b: Draft): number => b.endpoints.length - a.endpoints.length;

function fill(draft: Draft, left: Map<string, Endpoint>): void {
  for (const [key, endpoint] of left) {
    if (draft.endpoints.length >= maxEndpoints) return;
    draft.endpoints.push(endpoint);
    draft.changed = true;
    left.delete(key);
  }
}

/** The fullest unchanged slice that has room for this many more endpoints. */
function fullestWithRoom(drafts: readonly Draft[], count: number): Draft | undefined {
  const candidates = drafts.filter(({ changed, endpoints }) => !changed && endpoints.length + count <= maxEndpoints);
  return candidates.sort(fullestFirst)[0];
}

/** Reuses a slice that would be deleted instead of creating a new one. */
function reuse(drafts: Draft[]): void {
  for (let index = drafts.length - 1; index >= 0; index--) {
    const draft = drafts[index];
    if (!draft || draft.from) continue;
    const empty = drafts.findIndex(({ from, changed, endpoints }) => from && changed && endpoints.length === 0);
    const spare = drafts[empty];
    if (!spare) return;
    drafts[index] = { ...draft, from: spare.from };
    drafts.splice(empty, 1);
    if (empty < index) index--;
  }
}

/** A service without endpoints has one empty slice without ports. */
function keepOne(drafts: Draft[], own: readonly EndpointSlice[]): void {
  if (drafts.some(({ changed, endpoints }) => !changed || endpoints.length > 0)) return;
  const from = drafts[0]?.from ?? own[0];
  const rest = drafts.filter((draft) => draft.from !== from);
  const isRight = from !== undefined && from.endpoints.length === 0 && !from.ports?.length;
  drafts.splice(0, drafts.length, { from, ports: [], endpoints: [], changed: !isRight, isPlaceholder: true }, ...rest);
}

function writes(
  service: Service,
  { type, drafts, remove }: { readonly type: AddressType; readonly drafts: readonly Draft[]; remove: EndpointSlice[] },
): SlicePlan {
  const plan: SlicePlan = { create: [], update: [], remove: [...remove] };
  for (const draft of drafts) {
    const { from, ports, endpoints, changed, isPlaceholder } = draft;
    const labels = labelsFor(service, from);
    if (!from) {
      plan.create.push({ ...newSlice(service, type), ports: [...ports], endpoints });
    } else if (changed && endpoints.length === 0 && !isPlaceholder) {
      plan.remove.push(from);
    } else if (changed || labels) {
      const metadata = labels ? { ...from.metadata, labels } : from.metadata;
      plan.update.push({ ...from, metadata, ports: [...ports], endpoints });
    }
  }
  return plan;
}

const newSlice = (service: Service, addressType: AddressType): InputOf<EndpointSlice> => ({
  metadata: {
    namespace: service.metadata.namespace,
    generateName: `${service.metadata.name}-`,
    labels: wantedLabels(service),
    ownerReferences: [ownerRefTo(Service, service)],
  },
  addressType,
});

const reserved = new Set([serviceNameLabel, managedByLabel, headlessLabel]);

/** The labels of the service, and those of the slice itself. */
function wantedLabels(service: Service): Record<string, string> {
  const labels = Object.entries(service.metadata.labels ?? {}).filter(([key]) => !reserved.has(key));
  return {
    ...Object.fromEntries(labels),
    ...(isHeadless(service) ? { [headlessLabel]: "" } : {}),
    [serviceNameLabel]: service.metadata.name,
    [managedByLabel]: manager,
  };
}

/** The labels that the slice should get; undefined if it has them. */
function labelsFor(service: Service, slice: EndpointSlice | undefined): Record<string, string> | undefined {
  const wanted = wantedLabels(service);
  return equal(wanted, slice?.metadata.labels ?? {}) ? undefined : wanted;
}
