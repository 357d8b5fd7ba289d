import { isFinished, isReady } from "#api/core/pod/pod-state.ts";
import { type Pod } from "#api/core/pod.ts";
import { type Endpoints } from "#api/core/service/endpoints.ts";
import { type Service } from "#api/core/service.ts";
import { canonicalAddress } from "#api/meta/ip-address.ts";
import { type InputOf } from "#api/resource.ts";
import { endpointsManagedByLabel, headlessLabel, triggerTimeAnnotation } from "#api/well-known.ts";
import { addressTypesOf, isHeadless, portFinder } from "#controllers/endpoint-slice/endpoints-of.ts";
import { equal } from "#lib/data/equal.ts";
import { type EndpointPort, type Offer, packSubsets } from "./pack-subsets.ts";
import { truncateSubsets } from "./truncate-subsets.ts";

export const manager = "endpoint-controller";
const overCapacityAnnotation = "endpoints.kubernetes.io/over-capacity";

export interface EndpointsState {
  readonly pods: readonly Pod[];
  readonly current: Endpoints | undefined;
  /** When the change happened that causes this. */
  readonly time: string | undefined;
}

/** The Endpoints that a service with a selector should have; undefined if it has them. */
export function planEndpoints(
  service: Service,
  { pods, current, time }: EndpointsState,
): InputOf<Endpoints> | undefined {
  const { namespace, name } = service.metadata;
  const all = packSubsets(offersOf(service, pods));
  const truncated = truncateSubsets(all);
  const subsets = truncated ?? all;
  const labels = labelsFor(service);
  const { [triggerTimeAnnotation]: _, [overCapacityAnnotation]: before, ...kept } = current?.metadata.annotations ?? {};
  const mark = truncated ? "truncated" : undefined;
  if (current && before === mark && equal(labels, current.metadata.labels) && equal(subsets, current.subsets ?? [])) {
    return undefined;
  }
  const annotations = {
    ...kept,
    ...(time ? { [triggerTimeAnnotation]: time } : {}),
    ...(mark ? { [overCapacityAnnotation]: mark } : {}),
  };
  return { metadata: { ...(current?.metadata ?? { namespace, name }), labels, annotations }, subsets };
}

function* offersOf(service: Service, pods: readonly Pod[]): Iterable<Offer> {
  const { publishNotReadyAddresses = false, ports: wanted = [] } = service.spec;
  if (wanted.length === 0 && !isHeadless(service)) return;
  const portsOf = portFinder(service);
  const plain = new Map<string, EndpointPort[]>();
  for (const pod of pods) {
    if (isFinished(pod) || (pod.metadata.deletionTimestamp && !publishNotReadyAddresses)) continue;
    const address = addressOf(service, pod);
    if (!address) continue;
    const { key, ports: found } = portsOf(pod);
    if (wanted.length > 0 && found.length === 0) continue;
    const ports = plain.get(key) ?? found.map(plainPort);
    plain.set(key, ports);
    yield { address, ready: publishNotReadyAddresses || isReady(pod), ports };
  }
}

const plainPort = ({
  name,
  port = 0,
  ...rest
}: ReturnType<ReturnType<typeof portFinder>>["ports"][number]): EndpointPort => ({
  ...rest,
  port,
  ...(name ? { name } : {}),
});

/** The pod's address of the service's first family. */
function addressOf(service: Service, pod: Pod): Offer["address"] | undefined {
  const { namespace, name, uid } = pod.metadata;
  const { hostname, subdomain, nodeName } = pod.spec;
  const isIPv6 = familyOf(service, pod) === "IPv6";
  const found = pod.status.podIPs?.find(({ ip }) => ip.includes(":") === isIPv6);
  const ip = found && canonicalAddress(found.ip);
  if (!ip) return undefined;
  const isNamed = hostname && subdomain === service.metadata.name && namespace === service.metadata.namespace;
  return {
    ip,
    ...(isNamed ? { hostname } : {}),
    ...(nodeName ? { nodeName } : {}),
    targetRef: { kind: "Pod", namespace, name, uid },
  };
}

function familyOf(service: Service, pod: Pod): string | undefined {
  if (!service.spec.ipFamilies?.length && isHeadless(service)) return pod.status.podIP?.includes(":") ? "IPv6" : "IPv4";
  return addressTypesOf(service)[0];
}

function labelsFor(service: Service): Record<string, string> {
  const { [headlessLabel]: _, ...labels } = service.metadata.labels ?? {};
  return { ...labels, ...(isHeadless(service) ? { [headlessLabel]: "" } : {}), [endpointsManagedByLabel]: manager };
}
