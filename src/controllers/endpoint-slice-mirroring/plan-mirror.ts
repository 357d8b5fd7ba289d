import { Endpoints } from "#api/core/service/endpoints.ts";
import { type Endpoint, type EndpointPort, type EndpointSlice } from "#api/discovery/endpoint-slice.ts";
import { canonicalAddress, ipFamily } from "#api/meta/ip-address.ts";
import { ownerRefTo } from "#api/meta/owner.ts";
import { type InputOf } from "#api/resource.ts";
import { lastAppliedAnnotation, managedByLabel, serviceNameLabel, triggerTimeAnnotation } from "#api/well-known.ts";
import { type AddressType, portsKey } from "#controllers/endpoint-slice/endpoints-of.ts";
import { type EndpointAddress, type EndpointSubset, packSubsets } from "#controllers/endpoints/pack-subsets.ts";
import { equal } from "#lib/data/equal.ts";

export const manager = "endpointslicemirroring-controller.k8s.io";

/** The maximum number of addresses of a subset that are mirrored, so that one slice has room for them. */
export const maxPerSubset = 1000;

export interface MirrorPlan {
  readonly create: InputOf<EndpointSlice>[];
  readonly update: EndpointSlice[];
  readonly remove: EndpointSlice[];
  /** How many addresses were left out because they are no IP addresses, and because there are too many. */
  readonly invalid: number;
  readonly surplus: number;
}

/** The content of one slice. */
interface Mirror {
  readonly type: AddressType;
  readonly ports: readonly EndpointPort[];
  readonly endpoints: Endpoint[];
}

/** One slice for each subset and address type, with the labels and annotations of the Endpoints. */
export function planMirror(endpoints: Endpoints, slices: readonly EndpointSlice[]): MirrorPlan {
  const wanted = new Map<string, Mirror>();
  let [invalid, surplus] = [0, 0];
  for (const subset of packSubsets(offersOf(endpoints))) {
    const { invalid: bad, skipped } = addSubset(wanted, subset);
    invalid += bad;
    surplus += skipped - bad;
  }
  const existing = Map.groupBy(slices, ({ addressType, ports }) => `${addressType} ${portsKey(ports)}`);
  const plan: MirrorPlan = { create: [], update: [], remove: [], invalid, surplus };
  const spare = [...existing].flatMap(([key, found]) => (wanted.has(key) ? found.slice(1) : found));
  for (const [key, mirror] of wanted) {
    // A slice that would be deleted is used again, if its type fits.
    const current = existing.get(key)?.[0] ?? take(spare, ({ addressType }) => addressType === mirror.type);
    const slice = sliceOf(endpoints, mirror);
    if (!current) plan.create.push(slice);
    else if (!isAlike(current, slice)) plan.update.push(updated(current, slice));
  }
  plan.remove.push(...spare);
  return plan;
}

function* offersOf({ subsets = [] }: Endpoints) {
  for (const { addresses = [], notReadyAddresses = [], ports = [] } of subsets) {
    for (const address of addresses) yield { address, ready: true, ports };
    for (const address of notReadyAddresses) yield { address, ready: false, ports };
  }
}

function addSubset(
  wanted: Map<string, Mirror>,
  { addresses = [], notReadyAddresses = [], ports = [] }: EndpointSubset,
): { readonly invalid: number; readonly skipped: number } {
  const slicePorts = ports.map(({ name = "", ...port }) => ({ name, ...port }) as EndpointPort);
  let [added, invalid] = [0, 0];
  const all = [
    ...addresses.map((address) => [address, true] as const),
    ...notReadyAddresses.map((address) => [address, false] as const),
  ];
  for (const [address, ready] of all) {
    if (added >= maxPerSubset) break;
    const type = ipFamily(address.ip);
    if (!type) {
      invalid++;
      continue;
    }
    const key = `${type} ${portsKey(slicePorts)}`;
    const mirror = wanted.get(key) ?? { type, ports: slicePorts, endpoints: [] };
    wanted.set(key, mirror);
    mirror.endpoints.push(endpointOf(address, ready));
    added++;
  }
  return { invalid, skipped: all.length - added };
}

const endpointOf = ({ ip, hostname, nodeName, targetRef }: EndpointAddress, ready: boolean): Endpoint => ({
  addresses: [canonicalAddress(ip) ?? ip],
  conditions: { ready },
  ...(hostname ? { hostname } : {}),
  ...(targetRef ? { targetRef } : {}),
  ...(nodeName ? { nodeName } : {}),
});

function sliceOf(owner: Endpoints, { type, ports, endpoints }: Mirror): InputOf<EndpointSlice> {
  const { namespace, name, labels, annotations = {} } = owner.metadata;
  const { [triggerTimeAnnotation]: _time, [lastAppliedAnnotation]: _applied, ...mirrored } = annotations;
  return {
    metadata: {
      namespace,
      generateName: `${name}-`,
      labels: { ...labels, [serviceNameLabel]: name, [managedByLabel]: manager },
      annotations: mirrored,
      ownerReferences: [ownerRefTo(Endpoints, owner)],
    },
    addressType: type,
    ports: [...ports],
    endpoints,
  };
}

function updated(
  { metadata, ...current }: EndpointSlice,
  { ports, endpoints, metadata: next }: InputOf<EndpointSlice>,
): EndpointSlice {
  const { labels, annotations, ownerReferences } = next ?? {};
  return {
    ...current,
    metadata: { ...metadata, labels, annotations, ownerReferences },
    ports,
    endpoints,
  } as EndpointSlice;
}

const isAlike = (current: EndpointSlice, wanted: InputOf<EndpointSlice>): boolean =>
  equal(current.endpoints, wanted.endpoints) &&
  equal(current.metadata.labels, wanted.metadata?.labels) &&
  equal(current.metadata.annotations ?? {}, wanted.metadata?.annotations) &&
  equal(current.metadata.ownerReferences, wanted.metadata?.ownerReferences) &&
  equal(current.ports ?? [], wanted.ports);

function take<T>(from: T[], fits: (item: T) => boolean): T | undefined {
  const at = from.findIndex(fits);
  return at < 0 ? undefined : from.splice(at, 1)[0];
}
