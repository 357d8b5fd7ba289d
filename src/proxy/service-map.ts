import { type Service, type ServicePort } from "#api/core/service.ts";
import { type Endpoint, type EndpointSlice } from "#api/discovery/endpoint-slice.ts";
import { type IpFamily } from "#api/meta/ip-address.ts";
import { headlessLabel } from "#api/well-known.ts";
import { parseAddress, parseAddresses, parsePort, parseProtocol, parseRanges } from "./parse-values.ts";

/** The node that the plan is for. */
export interface NodePlace {
  readonly name: string;
  /** "" if the node has no zone. */
  readonly zone: string;
  readonly family: IpFamily;
}

/** What a node does for one service. */
export interface ServicePlan {
  readonly namespace: string;
  readonly name: string;
  readonly ports: readonly PortPlan[];
  /** Where load balancers ask whether this node has pods of the service. */
  readonly health: { readonly port: number; readonly localEndpoints: number } | undefined;
  /** Orders services that want the same external address: the one with the lowest rank, which is the oldest, gets it. */
  readonly rank: string;
  /** How many addresses and endpoints the rules have to name. */
  readonly size: number;
  /** What was omitted and why, for the users who wrote it. */
  readonly faults: readonly string[];
}

/** For all services of a namespace together. A service that does not fit gets no rules. */
export const maxServicesSize = 200_000;

export const withoutRules = (plan: ServicePlan): ServicePlan => ({
  ...{ ...plan, ports: [], health: undefined },
  faults: [
    ...plan.faults,
    `the service has no rules: those of its namespace need more than ${maxServicesSize} entries`,
  ],
});

export interface PortPlan {
  readonly protocol: "tcp" | "udp" | "sctp";
  readonly port: number;
  readonly clusterIPs: readonly string[];
  readonly externalIPs: readonly string[];
  readonly loadBalancerIPs: readonly string[];
  /** The only clients that may use `loadBalancerIPs`; empty means all. */
  readonly sourceRanges: readonly string[];
  /** 0 means none. */
  readonly nodePort: number;
  /** How long a client stays with its endpoint; 0 means not at all. */
  readonly affinitySeconds: number;
  /** Whether traffic to `clusterIPs` stays on this node, and whether traffic to all other addresses does. */
  readonly internalLocal: boolean;
  readonly externalLocal: boolean;
  /** Endpoints for traffic that may go anywhere, and for traffic that stays on this node; sorted. */
  readonly cluster: readonly Target[];
  readonly local: readonly Target[];
  /** Whether any node has an endpoint. */
  readonly hasEndpoints: boolean;
}

/** The final destination of traffic. */
export interface Target {
  readonly address: string;
  readonly port: number;
  readonly isLocal: boolean;
}

/** A service that needs more gets no rules, because they would delay those of all others. */
export const maxServiceSize = 20_000;
const maxPorts = 2_000;
const otherProxyLabel = "service.kubernetes.io/service-proxy-name";

/** Decides what this node does for a service; undefined if it is headless, ExternalName or another proxy's. */
export function planService(
  service: Service,
  slices: readonly EndpointSlice[],
  node: NodePlace,
): ServicePlan | undefined {
  const { metadata, spec } = service;
  if (spec.type === "ExternalName" || metadata.labels?.[otherProxyLabel] !== undefined) return undefined;
  const clusterIPs = parseAddresses(addressesOf(service), node.family);
  if (clusterIPs.length === 0) return undefined;
  const { namespace, name, creationTimestamp = "9999" } = metadata;
  const head = { namespace, name, rank: `${creationTimestamp} ${namespace}/${name}` };
  const places = slices
    .filter(
      ({ addressType, metadata: { labels, deletionTimestamp } }) =>
        addressType === node.family && !deletionTimestamp && labels?.[headlessLabel] === undefined,
    )
    .map(placesOf);
  const size = sizeOf(service, places);
  if (size > maxServiceSize) {
    const fault = `the service has no rules: its ports, addresses and endpoints need more than ${maxServiceSize} entries`;
    return { ...head, ports: [], health: undefined, size: 0, faults: [fault] };
  }
  const outside = planOutside(service, node.family);
  const ports = (spec.ports ?? []).flatMap(
    (port) => planPort({ service, port, clusterIPs, outside }, places, node) ?? [],
  );
  // The rules of each family are somebody else's, and one of them answers for the service.
  const isFirst = (spec.ipFamilies?.[0] ?? node.family) === node.family;
  const health = isFirst ? planHealth(service, ports) : undefined;
  return { ...head, ports, health, size, faults: isFirst ? faultsOf(service) : [] };
}

/** The endpoints of a slice, with its ports by name and protocol. */
interface SlicePlaces {
  readonly ports: ReadonlyMap<string, number>;
  readonly endpoints: readonly Endpoint[];
}

const portKey = (name: string | undefined, protocol: string | undefined): string =>
  `${protocol || "TCP"} ${name ?? ""}`;

function placesOf({ ports = [], endpoints }: EndpointSlice): SlicePlaces {
  const found = new Map<string, number>();
  for (const { name, protocol, port } of ports) {
    const number = parsePort(port);
    if (number !== undefined && !found.has(portKey(name, protocol))) found.set(portKey(name, protocol), number);
  }
  return { ports: found, endpoints };
}

/** An upper bound of what the rules have to name, computed before anything is planned. */
function sizeOf({ spec, status }: Service, places: readonly SlicePlaces[]): number {
  const { ports = [], externalIPs = [], loadBalancerSourceRanges = [] } = spec;
  if (ports.length > maxPorts) return Number.POSITIVE_INFINITY;
  const ingress = status.loadBalancer.ingress?.length ?? 0;
  let size = ports.length * (2 + externalIPs.length + ingress + loadBalancerSourceRanges.length);
  for (const { name, protocol } of ports) {
    for (const slice of places) if (slice.ports.has(portKey(name, protocol))) size += slice.endpoints.length;
  }
  return size;
}

type Outside = Pick<PortPlan, "externalIPs" | "loadBalancerIPs" | "sourceRanges">;

/** The addresses besides the cluster's own. A load balancer with invalid source ranges gets none, or it would be open to all. */
function planOutside(service: Service, family: IpFamily): Outside {
  const { spec, status } = service;
  const balanced = spec.type === "LoadBalancer" && !hasBadRange(service) ? (status.loadBalancer.ingress ?? []) : [];
  const loadBalancerIPs = balanced.flatMap(({ ip, ipMode }) => (ip && ipMode !== "Proxy" ? [ip] : []));
  return {
    externalIPs: parseAddresses(spec.externalIPs ?? [], family),
    loadBalancerIPs: parseAddresses(loadBalancerIPs, family),
    sourceRanges: sourceRangesOf(spec.loadBalancerSourceRanges ?? [], family),
  };
}

const hasBadRange = ({ spec }: Service): boolean =>
  (spec.loadBalancerSourceRanges ?? []).some(
    (range) => parseRanges([range], "IPv4").length + parseRanges([range], "IPv6").length === 0,
  );

function faultsOf(service: Service): string[] {
  const faults: string[] = [];
  const { ports = [] } = service.spec;
  if (ports.some(({ port, protocol }) => !parsePort(port) || !parseProtocol(protocol))) {
    faults.push("a port without a valid number and protocol is ignored");
  }
  if (hasBadRange(service))
    faults.push("the load balancer's addresses are closed: a source range is not a valid address range");
  return faults;
}

function addressesOf({ spec }: Service): readonly string[] {
  if (!spec.clusterIP || spec.clusterIP === "None") return [];
  return spec.clusterIPs?.length ? spec.clusterIPs : [spec.clusterIP];
}

interface PortSubject {
  readonly service: Service;
  readonly port: ServicePort;
  readonly clusterIPs: readonly string[];
  readonly outside: Outside;
}

function planPort(
  { service, port, clusterIPs, outside }: PortSubject,
  places: readonly SlicePlaces[],
  node: NodePlace,
): PortPlan | undefined {
  const { spec } = service;
  const protocol = parseProtocol(port.protocol);
  const number = parsePort(port.port);
  if (!protocol || number === undefined) return undefined;
  const hasNodePort = spec.type === "NodePort" || spec.type === "LoadBalancer";
  const internalLocal = spec.internalTrafficPolicy === "Local";
  const externalLocal = spec.externalTrafficPolicy === "Local" && isReachedFromOutside(service);
  const candidates = candidatesFor(port, places, node);
  const cluster = usableAnywhere(candidates, node).map(({ target }) => target);
  return {
    protocol,
    port: number,
    clusterIPs,
    ...outside,
    nodePort: hasNodePort ? (parsePort(port.nodePort) ?? 0) : 0,
    affinitySeconds: affinityOf(service),
    internalLocal,
    externalLocal,
    cluster,
    local: internalLocal || externalLocal ? usableHere(candidates).map(({ target }) => target) : [],
    hasEndpoints: cluster.length > 0,
  };
}

const defaultAffinitySeconds = 10_800;
const maxAffinitySeconds = 86_400;

function affinityOf({ spec }: Service): number {
  if (spec.sessionAffinity !== "ClientIP") return 0;
  const seconds = Math.floor(spec.sessionAffinityConfig?.clientIP?.timeoutSeconds ?? defaultAffinitySeconds);
  return seconds > 0 && seconds <= maxAffinitySeconds ? seconds : defaultAffinitySeconds;
}

const isReachedFromOutside = ({ spec }: Service): boolean =>
  spec.type === "NodePort" || spec.type === "LoadBalancer" || (spec.externalIPs ?? []).length > 0;

/** Ranges of one family; empty if one of them covers everything. */
function sourceRangesOf(texts: readonly string[], family: IpFamily): string[] {
  const ranges = parseRanges(texts, family);
  return ranges.some((range) => range.endsWith("/0")) ? [] : ranges;
}

/** An endpoint as declared in the slices. */
interface Candidate {
  readonly target: Target;
  readonly ready: boolean;
  /** Terminating, and still serving. */
  readonly draining: boolean;
  readonly zones: readonly string[];
  readonly nodes: readonly string[];
}

/** Every endpoint of a service port once, sorted. If two slices have the same one, a ready entry wins. */
function candidatesFor({ name, protocol }: ServicePort, places: readonly SlicePlaces[], node: NodePlace): Candidate[] {
  const found = new Map<string, Candidate>();
  for (const { ports, endpoints } of places) {
    const port = ports.get(portKey(name, protocol));
    if (port === undefined) continue;
    for (const endpoint of endpoints) {
      const address = parseAddress(endpoint.addresses[0], node.family);
      if (!address) continue;
      const key = `${address} ${port}`;
      const target = { address, port, isLocal: endpoint.nodeName === node.name };
      if (!found.get(key)?.ready) found.set(key, candidateOf(endpoint, target));
    }
  }
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, candidate]) => candidate);
}

function candidateOf(endpoint: Endpoint, target: Target): Candidate {
  const { ready = true, serving = ready, terminating = false } = endpoint.conditions;
  return {
    target,
    ready,
    draining: !ready && serving && terminating,
    zones: (endpoint.hints?.forZones ?? []).map(({ name }) => name),
    nodes: (endpoint.hints?.forNodes ?? []).map(({ name }) => name),
  };
}

/** Endpoints that are ready and meant for this node. If none is ready at all, those that still serve. */
function usableAnywhere(candidates: readonly Candidate[], node: NodePlace): readonly Candidate[] {
  const ready = candidates.filter((candidate) => candidate.ready);
  return ready.length > 0 ? nearest(ready, node) : candidates.filter(({ draining }) => draining);
}

/** Hints apply only if every endpoint has one and one of them is for us: a distant endpoint is better than none. */
function nearest(ready: readonly Candidate[], { name, zone }: NodePlace): readonly Candidate[] {
  if (ready.every(({ nodes }) => nodes.length > 0)) {
    const onNode = ready.filter(({ nodes }) => nodes.includes(name));
    if (onNode.length > 0) return onNode;
  }
  if (ready.every(({ zones }) => zones.length > 0)) {
    const inZone = ready.filter(({ zones }) => zones.includes(zone));
    if (inZone.length > 0) return inZone;
  }
  return ready;
}

function usableHere(candidates: readonly Candidate[]): readonly Candidate[] {
  const here = candidates.filter(({ target }) => target.isLocal);
  const ready = here.filter((candidate) => candidate.ready);
  return ready.length > 0 ? ready : here.filter(({ draining }) => draining);
}

function planHealth({ spec }: Service, ports: readonly PortPlan[]): ServicePlan["health"] {
  const port = parsePort(spec.healthCheckNodePort) ?? 0;
  if (spec.type !== "LoadBalancer" || spec.externalTrafficPolicy !== "Local" || port === 0) return undefined;
  const addresses = new Set(ports.flatMap(({ local }) => local.map(({ address }) => address)));
  return { port, localEndpoints: addresses.size };
}
