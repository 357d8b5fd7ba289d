import { type Service, type ServicePort } from "#api/core/service.ts";
import { type Endpoint, type EndpointSlice } from "#api/discovery/endpoint-slice.ts";
import { type IpFamily, ipFamily } from "#api/meta/ip-address.ts";
import { headlessLabel } from "#api/well-known.ts";

/** Where the plan is for. */
export interface NodePlace {
  readonly name: string;
  /** "" if the node does not say. */
  readonly zone: string;
  readonly family: IpFamily;
}

/** What a node has to do for one service. */
export interface ServicePlan {
  readonly namespace: string;
  readonly name: string;
  readonly ports: readonly PortPlan[];
  /** Where load balancers ask whether this node has pods of it. */
  readonly health: { readonly port: number; readonly localEndpoints: number } | undefined;
}

export interface PortPlan {
  readonly protocol: "tcp" | "udp" | "sctp";
  readonly port: number;
  readonly clusterIPs: readonly string[];
  readonly externalIPs: readonly string[];
  readonly loadBalancerIPs: readonly string[];
  /** The only clients that may use `loadBalancerIPs`; empty: all. */
  readonly sourceRanges: readonly string[];
  /** 0: none. */
  readonly nodePort: number;
  /** How long a client stays with its endpoint; 0: it does not. */
  readonly affinitySeconds: number;
  /** Whether traffic to `clusterIPs` stays on this node, and whether that to all other addresses does. */
  readonly internalLocal: boolean;
  readonly externalLocal: boolean;
  /** Endpoints for traffic that may go anywhere, and for traffic that stays on this node; sorted. */
  readonly cluster: readonly Target[];
  readonly local: readonly Target[];
  /** Some node has an endpoint, if not this one. */
  readonly hasEndpoints: boolean;
}

/** Where traffic goes in the end. */
export interface Target {
  readonly address: string;
  readonly port: number;
  readonly isLocal: boolean;
}

const otherProxyLabel = "service.kubernetes.io/service-proxy-name";

/** Decides what this node does for a service; undefined if nothing: headless, a mere name, another proxy's. */
export function planService(
  service: Service,
  slices: readonly EndpointSlice[],
  node: NodePlace,
): ServicePlan | undefined {
  const { metadata, spec } = service;
  if (spec.type === "ExternalName" || metadata.labels?.[otherProxyLabel] !== undefined) return undefined;
  const clusterIPs = addressesOf(service).filter((address) => ipFamily(address) === node.family);
  if (clusterIPs.length === 0) return undefined;
  const known = slices.filter(
    ({ addressType, metadata: { labels, deletionTimestamp } }) =>
      addressType === node.family && !deletionTimestamp && labels?.[headlessLabel] === undefined,
  );
  const ports = (spec.ports ?? []).map((port) => planPort({ service, port, clusterIPs }, known, node));
  return {
    namespace: metadata.namespace ?? "",
    name: metadata.name ?? "",
    ports,
    health: planHealth(service, ports),
  };
}

function addressesOf({ spec }: Service): readonly string[] {
  if (!spec.clusterIP || spec.clusterIP === "None") return [];
  return spec.clusterIPs?.length ? spec.clusterIPs : [spec.clusterIP];
}

interface PortSubject {
  readonly service: Service;
  readonly port: ServicePort;
  readonly clusterIPs: readonly string[];
}

function planPort({ service, port, clusterIPs }: PortSubject, slices: readonly EndpointSlice[], node: NodePlace) {
  const { spec, status } = service;
  const ofFamily = (address: string): boolean => ipFamily(address) === node.family;
  const internalLocal = spec.internalTrafficPolicy === "Local";
  const balanced = spec.type === "LoadBalancer" ? (status.loadBalancer.ingress ?? []) : [];
  const plan = {
    protocol: transports[port.protocol],
    port: port.port,
    clusterIPs,
    externalIPs: (spec.externalIPs ?? []).filter(ofFamily),
    loadBalancerIPs: balanced.flatMap(({ ip, ipMode }) => (ip && ipMode !== "Proxy" && ofFamily(ip) ? [ip] : [])),
    sourceRanges: sourceRangesOf(spec.loadBalancerSourceRanges ?? [], node.family),
    nodePort: spec.type === "NodePort" || spec.type === "LoadBalancer" ? (port.nodePort ?? 0) : 0,
    affinitySeconds: affinityOf(service),
    internalLocal,
    externalLocal: spec.externalTrafficPolicy === "Local" && isReachedFromOutside(service),
  };
  const candidates = candidatesFor(port, slices, node.name);
  const cluster = usableAnywhere(candidates, node);
  const local = usableHere(candidates);
  return {
    ...plan,
    cluster: cluster.map(({ target }) => target),
    local: plan.internalLocal || plan.externalLocal ? local.map(({ target }) => target) : [],
    hasEndpoints: cluster.length > 0,
  };
}

const transports = { TCP: "tcp", UDP: "udp", SCTP: "sctp" } as const;
const defaultAffinitySeconds = 10800;

function affinityOf({ spec }: Service): number {
  if (spec.sessionAffinity !== "ClientIP") return 0;
  return spec.sessionAffinityConfig?.clientIP?.timeoutSeconds ?? defaultAffinitySeconds;
}

const isReachedFromOutside = ({ spec }: Service): boolean =>
  spec.type === "NodePort" || spec.type === "LoadBalancer" || (spec.externalIPs ?? []).length > 0;

/** Ranges of one family; none if one of them is everything. */
function sourceRangesOf(ranges: readonly string[], family: IpFamily): string[] {
  const ours = ranges.map((range) => range.trim()).filter((range) => ipFamily(range.split("/")[0] ?? "") === family);
  return ours.some((range) => range.endsWith("/0")) ? [] : ours.sort();
}

/** An endpoint as the slices tell of it. */
interface Candidate {
  readonly target: Target;
  readonly ready: boolean;
  /** On its way out, and still serving. */
  readonly draining: boolean;
  readonly zones: readonly string[];
  readonly nodes: readonly string[];
}

/** Every endpoint of a service port once, sorted; where two slices have the same one, the one that is ready counts. */
function candidatesFor({ name = "", protocol }: ServicePort, slices: readonly EndpointSlice[], nodeName: string) {
  const found = new Map<string, Candidate>();
  for (const { endpoints, ports = [] } of slices) {
    for (const port of ports) {
      if (port.name !== name || port.protocol !== protocol || port.port === undefined) continue;
      for (const endpoint of endpoints) {
        const candidate = candidateOf(endpoint, port.port, nodeName);
        const key = `${candidate.target.address} ${port.port}`;
        if (!found.get(key)?.ready) found.set(key, candidate);
      }
    }
  }
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, candidate]) => candidate);
}

function candidateOf(endpoint: Endpoint, port: number, nodeName: string): Candidate {
  const { ready = true, serving = ready, terminating = false } = endpoint.conditions;
  return {
    target: { address: endpoint.addresses[0] ?? "", port, isLocal: endpoint.nodeName === nodeName },
    ready,
    draining: !ready && serving && terminating,
    zones: (endpoint.hints?.forZones ?? []).map(({ name }) => name),
    nodes: (endpoint.hints?.forNodes ?? []).map(({ name }) => name),
  };
}

/** Those that are ready and meant for this node; where none is ready at all, those that still serve. */
function usableAnywhere(candidates: readonly Candidate[], node: NodePlace): readonly Candidate[] {
  const ready = candidates.filter((candidate) => candidate.ready);
  return ready.length > 0 ? nearest(ready, node) : candidates.filter(({ draining }) => draining);
}

/** Hints count only if every endpoint has one and one of them is for us: better far away than nowhere. */
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
  const port = spec.healthCheckNodePort ?? 0;
  if (spec.type !== "LoadBalancer" || spec.externalTrafficPolicy !== "Local" || port === 0) return undefined;
  const addresses = new Set(ports.flatMap(({ local }) => local.map(({ address }) => address)));
  return { port, localEndpoints: addresses.size };
}
