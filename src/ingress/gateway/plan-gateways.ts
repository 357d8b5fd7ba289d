import { type Steps } from "#lib/async/turns.ts";
import { compareText } from "#lib/data/compare-text.ts";
import { type CertificateWish } from "../routing/plan-ingress.ts";
import { type Scope } from "../routing/route-table.ts";
import { type TlsScope } from "../routing/tls-table.ts";
import { bad, type Finding, good } from "./conditions.ts";
import { gatewayGroup } from "./definitions.ts";
import { type GatewayFacts } from "./facts.ts";
import { type Gateway, type GatewayRoute, type Listener, type ParentRef } from "./kinds.ts";
import { type ConnectionsPlan, connectionRoute, planConnections } from "./plan-connections.ts";
import {
  type ListenerUse,
  type PlannedGateway,
  type PlannedListener,
  planListeners,
  rankOf,
  type TakenHosts,
  wildcard,
} from "./plan-listeners.ts";
import { planRules, type RouteSubject, type RulesPlan } from "./plan-rules.ts";

export interface GatewaysPlan {
  readonly http: readonly Scope[];
  readonly https: readonly Scope[];
  readonly tls: readonly TlsScope[];
  readonly certificates: readonly (CertificateWish & Pick<Scope, "wildcard">)[];
  readonly gateways: ReadonlyMap<Gateway, GatewayFindings>;
  readonly routes: ReadonlyMap<GatewayRoute, readonly ParentFindings[]>;
}
export interface GatewayFindings {
  readonly conditions: readonly Finding[];
  readonly listeners: readonly ListenerFindings[];
}
export interface ListenerFindings {
  readonly name: string;
  readonly attachedRoutes: number;
  readonly kinds: readonly string[];
  readonly conditions: readonly Finding[];
}
export interface ParentFindings {
  readonly parentRef: ParentRef;
  readonly conditions: readonly Finding[];
}

/** Matches times hosts times listeners, for all routes of a namespace. The oldest fit first. */
const maxNamespaceRoutes = 5_000;
/** A regular expression takes up to 60 kB of memory, so a namespace has at most 250. */
const routesPerPattern = 20;

/** Pure: decides what all Gateways serve together, and what their owners are told. In steps, because there may be many. */
export function* planGateways(facts: GatewayFacts): Steps<GatewaysPlan> {
  const taken: TakenHosts = new Map();
  const oldest = facts.gateways.toSorted((a, b) => compareText(rankOf(a), rankOf(b)));
  const planned: PlannedGateway[] = [];
  for (const gateway of oldest) planned.push(yield* planListeners(gateway, taken, facts));
  const byKey = new Map(planned.map((one) => [keyOf(one.gateway), one]));
  const sizes = new Map<string, number>();
  const routes = new Map<GatewayRoute, readonly ParentFindings[]>();
  const sorted = facts.routes.toSorted((a, b) => compareText(rankOf(a.route), rankOf(b.route)));
  for (const subject of sorted) {
    const wanted = planWanted(subject, facts);
    const findings: ParentFindings[] = [];
    for (const parentRef of subject.route.spec.parentRefs ?? []) {
      if ((parentRef.group ?? gatewayGroup) !== gatewayGroup || (parentRef.kind ?? "Gateway") !== "Gateway") continue;
      const gateway = byKey.get(`${parentRef.namespace ?? subject.route.metadata.namespace}/${parentRef.name}`);
      if (gateway) findings.push(yield* attach({ subject, wanted, parentRef, gateway, sizes }, facts));
      yield;
    }
    if (findings.length > 0) routes.set(subject.route, findings);
    yield;
  }
  return { ...servedBy(planned), gateways: new Map(planned.map((one) => [one.gateway, findingsOf(one)])), routes };
}

function servedBy(gateways: readonly PlannedGateway[]): Omit<GatewaysPlan, "gateways" | "routes"> {
  const listeners = gateways.flatMap((one) => one.listeners).filter(({ isServed }) => isServed);
  const scopesOf = (wanted: ListenerUse): Scope[] =>
    listeners.filter(({ use }) => use === wanted).map(({ host, routes }) => ({ host, wildcard, routes }));
  return {
    http: scopesOf("HTTP"),
    https: scopesOf("HTTPS"),
    tls: listeners.filter(isTls).map(({ host, tlsRoutes: routes }) => ({ host, routes })),
    certificates: listeners.flatMap(({ certificates }) => certificates),
  };
}

const isTls = ({ listener }: PlannedListener): boolean => listener.protocol === "TLS";
const keyOf = ({ metadata }: Gateway): string => `${metadata.namespace}/${metadata.name}`;

/** What a route wants, whatever it is attached to: rules for requests, or connections. */
type Wanted = RulesPlan & { readonly connections: ConnectionsPlan | undefined };

function planWanted(subject: RouteSubject, facts: GatewayFacts): Wanted {
  if (subject.kind !== "TLSRoute") return { ...planRules(subject, facts), connections: undefined };
  const connections = planConnections(subject, facts);
  return { routes: [], patterns: 0, refFault: connections.refFault, unsupported: undefined, connections };
}

function findingsOf({ gateway, listeners }: PlannedGateway): GatewayFindings {
  const areServed = listeners.every(({ isServed }) => isServed);
  const isAnyServed = listeners.some(({ isServed }) => isServed);
  const hasAddresses = (gateway.spec.addresses ?? []).some(({ value }) => value);
  const accepted = hasAddresses
    ? bad("Accepted", "UnsupportedAddress", "addresses cannot be chosen: they are those of the node")
    : areServed
      ? good("Accepted")
      : { ...good("Accepted", "ListenersNotValid"), isTrue: isAnyServed, message: "some listeners are not valid" };
  const programmed = isAnyServed ? good("Programmed") : bad("Programmed", "Invalid", "no listener is valid");
  return {
    conditions: [accepted, programmed],
    listeners: listeners.map(({ listener, attached, kinds, findings }) => ({
      ...{ name: listener.name, attachedRoutes: attached, kinds, conditions: findings },
    })),
  };
}

interface Attachment {
  readonly subject: RouteSubject;
  readonly wanted: Wanted;
  readonly parentRef: ParentRef;
  readonly gateway: PlannedGateway;
  /** How many routes each namespace has so far. */
  readonly sizes: Map<string, number>;
}

/** A step for each listener, because a route may have many hosts. */
function* attach(
  { subject, wanted, parentRef, gateway, sizes }: Attachment,
  facts: GatewayFacts,
): Steps<ParentFindings> {
  const { route, kind } = subject;
  const resolved = wanted.refFault
    ? bad("ResolvedRefs", wanted.refFault.reason, wanted.refFault.message)
    : good("ResolvedRefs");
  const refused = (reason: string, message: string): ParentFindings => ({
    parentRef,
    conditions: [bad("Accepted", reason, message), resolved],
  });
  const named = gateway.listeners.filter(
    ({ listener }) =>
      (parentRef.sectionName === undefined || listener.name === parentRef.sectionName) &&
      (parentRef.port === undefined || listener.port === parentRef.port),
  );
  if (named.length === 0) return refused("NoMatchingParent", "the Gateway has no such listener");
  const allowed = named.filter(
    (one) => one.kinds.includes(kind) && allowsNamespace(one.listener, { gateway: gateway.gateway, route }, facts),
  );
  if (allowed.length === 0)
    return refused("NotAllowedByListeners", "no listener allows the route's kind and namespace");
  const matching = new Map<PlannedListener, readonly string[]>();
  for (const one of allowed) {
    const hosts = commonHosts(one, { gateway: gateway.gateway, route }, facts);
    if (hosts.length > 0) matching.set(one, hosts);
    yield;
  }
  if (matching.size === 0) {
    return refused("NoMatchingListenerHostname", "no host of the route is a host of a listener");
  }
  if (wanted.unsupported) return refused("UnsupportedValue", wanted.unsupported);
  const { namespace } = route.metadata;
  const size = (sizes.get(namespace) ?? 0) + sizeOf(wanted, matching);
  if (size > maxNamespaceRoutes) return refused("UnsupportedValue", tooMany);
  sizes.set(namespace, size);
  for (const [listener, hosts] of matching) add(listener, hosts, wanted);
  return { parentRef, conditions: [good("Accepted"), resolved] };
}

const tooMany = `the routes of a namespace have more than ${maxNamespaceRoutes} matches, where a regular expression counts as ${routesPerPattern}`;

function sizeOf(
  { routes, patterns, connections }: Wanted,
  matching: ReadonlyMap<PlannedListener, readonly string[]>,
): number {
  const ofEach = connections ? 1 : routes.length;
  const hosts = matching.values().reduce((sum, { length }) => sum + length, 0);
  return hosts * ofEach + patterns * routesPerPattern;
}

function add(listener: PlannedListener, hosts: readonly string[], { routes, connections }: Wanted): void {
  listener.attached++;
  const isTerminated = listener.use === "TLS that ends here";
  for (const host of hosts) {
    if (connections) listener.tlsRoutes.push(connectionRoute(connections, { host, isTerminated }));
    for (const own of routes) listener.routes.push({ ...own, host });
  }
}

interface Pairing {
  readonly gateway: Gateway;
  readonly route: GatewayRoute;
}

/**
 * Requests for a host of another namespace find its routes first. Connections would not, because there may be no
 * certificate for the host.
 */
function commonHosts(planned: PlannedListener, { gateway, route }: Pairing, facts: GatewayFacts): readonly string[] {
  const hosts = hostsOf(planned.host, route.spec.hostnames ?? []);
  if (!isTls(planned)) return hosts;
  return hosts.filter((host) => (facts.hostOwner(host) ?? gateway.metadata.namespace) === gateway.metadata.namespace);
}

function allowsNamespace(
  { allowedRoutes }: Listener,
  { gateway, route }: Pairing,
  { matchesNamespace }: GatewayFacts,
): boolean {
  const { from = "Same", selector } = allowedRoutes?.namespaces ?? {};
  const { namespace } = route.metadata;
  if (from === "All") return true;
  if (from === "Same") return namespace === gateway.metadata.namespace;
  return selector !== undefined && matchesNamespace(namespace, selector);
}

/** The hosts that a listener and a route have in common. */
export function hostsOf(listener: string, hostnames: readonly string[]): string[] {
  if (hostnames.length === 0) return [listener];
  return hostnames.flatMap((host) => {
    if (listener === "" || listener === host || covers(listener, host)) return [host];
    return covers(host, listener) ? [listener] : [];
  });
}

/** Whether `*.example` stands for a host, which may itself begin with a star. */
const covers = (wide: string, host: string): boolean =>
  wide.startsWith("*.") && host.replace(/^\*/, "").endsWith(wide.slice(1)) && host !== wide && host !== wide.slice(2);
