import { type Node } from "#api/core/node.ts";
import { isFinished, isReady } from "#api/core/pod/pod-state.ts";
import { type Pod } from "#api/core/pod.ts";
import { type Service, type ServicePort } from "#api/core/service.ts";
import { type Endpoint, type EndpointPort } from "#api/discovery/endpoint-slice.ts";
import { zoneLabel } from "#api/well-known.ts";
import { wantsZoneHints } from "./zone-hints.ts";

export type AddressType = "IPv4" | "IPv6";

/** Endpoints with the same ports, by pod and address. */
export interface PortGroup {
  readonly ports: readonly EndpointPort[];
  readonly endpoints: Map<string, Endpoint>;
}

export interface ServiceEndpoints {
  /** By their ports. */
  readonly groups: Map<string, PortGroup>;
  /** Pods that are left out because their node is unknown. */
  readonly withoutNode: readonly Pod[];
}

/** The address types of a service's slices. */
export function addressTypesOf({ spec }: Service): readonly AddressType[] {
  if (spec.ipFamilies?.length) return spec.ipFamilies;
  if (isHeadless({ spec })) return ["IPv4", "IPv6"];
  return [spec.clusterIP?.includes(":") ? "IPv6" : "IPv4"];
}

/** It has no cluster IP. */
export const isHeadless = ({ spec }: Pick<Service, "spec">): boolean => !spec.clusterIP || spec.clusterIP === "None";

/** The desired endpoints of the service's slices of one address type. */
export function endpointsOf(
  service: Service,
  pods: readonly Pod[],
  { type, nodeOf }: { readonly type: AddressType; nodeOf(name: string): Node | undefined },
): ServiceEndpoints {
  const groups = new Map<string, PortGroup>();
  const withoutNode: Pod[] = [];
  const portsOf = portFinder(service);
  for (const pod of pods) {
    if (!hasPlace(pod)) continue;
    const { key, ports } = portsOf(pod);
    let group = groups.get(key);
    if (!group) {
      group = { ports, endpoints: new Map() };
      groups.set(key, group);
    }
    const node = pod.spec.nodeName ? nodeOf(pod.spec.nodeName) : undefined;
    if (!node && !service.spec.publishNotReadyAddresses) {
      withoutNode.push(pod);
      continue;
    }
    const endpoint = endpointFor(service, pod, { node, type });
    if (endpoint) group.endpoints.set(endpointKey(endpoint), endpoint);
  }
  return { groups, withoutNode };
}

/** The pod has an address and has not finished. */
const hasPlace = (pod: Pod): boolean => !isFinished(pod) && Boolean(pod.status.podIP || pod.status.podIPs?.length);

export const endpointKey = ({ targetRef, addresses }: Endpoint): string =>
  `${targetRef?.namespace}/${targetRef?.name} ${addresses.join(",")}`;

/** Equal for the same ports in any order. */
export const portsKey = (ports: readonly EndpointPort[] | undefined): string =>
  (ports ?? [])
    .map(({ name, protocol, port, appProtocol }) => JSON.stringify([name, protocol, port, appProtocol]))
    .sort()
    .join();

/** Finds a pod's ports; without named ports they are the same for all pods. */
export function portFinder({ spec }: Service): (pod: Pod) => { readonly key: string; readonly ports: EndpointPort[] } {
  const { ports: wanted = [] } = spec;
  const find = (pod: Pod | undefined) => {
    const ports = wanted.flatMap((port) => {
      const number = portNumber(port, pod);
      if (number === undefined) return [];
      const { name = "", protocol, appProtocol } = port;
      return [{ name, protocol, port: number, ...(appProtocol ? { appProtocol } : {}) }];
    });
    return { key: portsKey(ports), ports };
  };
  if (wanted.some(({ targetPort }) => typeof targetPort === "string")) return find;
  const same = find(undefined);
  return () => same;
}

/** The target of a service's port in one pod: a number, or the container port of that name. */
function portNumber({ targetPort, port, protocol }: ServicePort, pod: Pod | undefined): number | undefined {
  if (typeof targetPort !== "string") return targetPort ?? port;
  const { containers = [], initContainers = [] } = pod?.spec ?? {};
  const sidecars = initContainers.filter(({ restartPolicy }) => restartPolicy === "Always");
  for (const { ports = [] } of [...containers, ...sidecars]) {
    const found = ports.find((candidate) => candidate.name === targetPort && candidate.protocol === protocol);
    if (found) return found.containerPort;
  }
  return undefined;
}

function endpointFor(
  service: Service,
  pod: Pod,
  { node, type }: { readonly node: Node | undefined; readonly type: AddressType },
): Endpoint | undefined {
  const addresses = addressesOf(pod).filter((address) => address.includes(":") === (type === "IPv6"));
  if (addresses.length === 0) return undefined;
  const { namespace, name, uid } = pod.metadata;
  const serving = isReady(pod);
  const terminating = pod.metadata.deletionTimestamp !== undefined;
  const ready = service.spec.publishNotReadyAddresses === true || (serving && !terminating);
  const { hostname, subdomain, nodeName } = pod.spec;
  const zone = node?.metadata.labels?.[zoneLabel];
  const isNamed = hostname && subdomain === service.metadata.name && namespace === service.metadata.namespace;
  const hints = ready && !wantsZoneHints(service) ? hintsFor(service, { zone, nodeName }) : undefined;
  return {
    addresses,
    conditions: { ready, serving, terminating },
    ...(isNamed ? { hostname } : {}),
    targetRef: { kind: "Pod", namespace, name, uid },
    ...(nodeName ? { nodeName } : {}),
    ...(zone ? { zone } : {}),
    ...(hints ? { hints } : {}),
  };
}

function addressesOf({ status }: Pod): string[] {
  return (status.podIPs ?? []).map(({ ip }) => ip);
}

const nearby = new Set(["PreferClose", "PreferSameZone", "PreferSameNode"]);

/** Endpoint hints for traffic that prefers its own zone or node. */
function hintsFor(
  { spec }: Service,
  { zone, nodeName }: { readonly zone: string | undefined; readonly nodeName: string | undefined },
): Endpoint["hints"] {
  const { trafficDistribution = "" } = spec;
  if (!nearby.has(trafficDistribution)) return undefined;
  const hints = {
    ...(zone ? { forZones: [{ name: zone }] } : {}),
    ...(nodeName && trafficDistribution === "PreferSameNode" ? { forNodes: [{ name: nodeName }] } : {}),
  };
  return Object.keys(hints).length > 0 ? hints : undefined;
}
