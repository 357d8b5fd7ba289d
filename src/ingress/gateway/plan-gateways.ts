import { type LabelSelector } from "#api/meta/label-selector.ts";
import { type Steps } from "#lib/async/turns.ts";
import { compareText } from "#lib/data/compare-text.ts";
import { type HostClaim } from "../routing/host-owners.ts";
import { type CertificateWish } from "../routing/plan-ingress.ts";
import { type Route } from "../routing/route.ts";
import { type Scope } from "../routing/route-table.ts";
import { bad, type Finding, good } from "./conditions.ts";
import { gatewayGroup } from "./definitions.ts";
import {
  type Gateway,
  type GatewayRoute,
  type Listener,
  type ObjectRef,
  type ParentRef,
  type ReferenceGrant,
} from "./kinds.ts";
import { type BackendLookup, planRules, type RouteSubject, type RulesPlan } from "./plan-rules.ts";
import { isPermitted } from "./references.ts";

/** Everything that decides what Gateways serve. */
export interface GatewayFacts extends BackendLookup {
  /** Those of our classes. */
  readonly gateways: readonly Gateway[];
  readonly routes: readonly RouteSubject[];
  readonly ports: { readonly http: number; readonly https: number };
  grantsIn(namespace: string): readonly ReferenceGrant[];
  matchesNamespace(namespace: string, selector: LabelSelector): boolean;
  /** Which namespace has a host, by an Ingress or by what `claimsOf` says. */
  hostOwner(host: string): string | undefined;
  /** What is wrong with a secret; undefined if it has a certificate that can be served. */
  secretFault(key: string): string | undefined;
}

export interface GatewaysPlan {
  readonly http: readonly Scope[];
  readonly https: readonly Scope[];
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
const routeKinds = ["GRPCRoute", "HTTPRoute"];
const wildcard = "any labels";

/** Pure: decides what all Gateways serve together, and what their owners are told. In steps, because there may be many. */
export function* planGateways(facts: GatewayFacts): Steps<GatewaysPlan> {
  const owners = new Map<string, string>();
  const oldest = facts.gateways.toSorted((a, b) => compareText(rankOf(a), rankOf(b)));
  const planned: PlannedGateway[] = [];
  for (const gateway of oldest) planned.push(yield* planListeners(gateway, owners, facts));
  const byKey = new Map(planned.map((one) => [keyOf(one.gateway), one]));
  const sizes = new Map<string, number>();
  const routes = new Map<GatewayRoute, readonly ParentFindings[]>();
  const sorted = facts.routes.toSorted((a, b) => compareText(rankOf(a.route), rankOf(b.route)));
  for (const subject of sorted) {
    const rules = planRules(subject, facts);
    const findings: ParentFindings[] = [];
    for (const parentRef of subject.route.spec.parentRefs ?? []) {
      if ((parentRef.group ?? gatewayGroup) !== gatewayGroup || (parentRef.kind ?? "Gateway") !== "Gateway") continue;
      const gateway = byKey.get(`${parentRef.namespace ?? subject.route.metadata.namespace}/${parentRef.name}`);
      if (gateway) findings.push(attach({ subject, rules, parentRef, gateway, sizes }, facts));
      yield;
    }
    if (findings.length > 0) routes.set(subject.route, findings);
    yield;
  }
  const listeners = planned.flatMap(({ listeners: own }) => own).filter(({ isServed }) => isServed);
  const scopesOf = (isSecure: boolean): Scope[] =>
    listeners
      .filter((listener) => listener.isSecure === isSecure)
      .map(({ host, routes: own }) => ({ host, wildcard, routes: own }));
  return {
    http: scopesOf(false),
    https: scopesOf(true),
    certificates: listeners.flatMap(({ certificates }) => certificates),
    gateways: new Map(planned.map((one) => [one.gateway, findingsOf(one)])),
    routes,
  };
}

const keyOf = ({ metadata }: Gateway): string => `${metadata.namespace}/${metadata.name}`;
const rankOf = ({ metadata: { namespace, name, creationTimestamp = "9999" } }: Gateway | GatewayRoute): string =>
  `${creationTimestamp} ${namespace}/${name}`;

/** The hosts of the listeners that a Gateway can have. */
export function claimsOf(gateway: Gateway, ports: GatewayFacts["ports"]): HostClaim[] {
  const { namespace } = gateway.metadata;
  return gateway.spec.listeners
    .filter(({ protocol, port }) => acceptListener(protocol, port, ports).isTrue)
    .map(({ hostname: host = "" }) => ({ host, namespace, rank: rankOf(gateway) }));
}

interface PlannedGateway {
  readonly gateway: Gateway;
  readonly listeners: readonly PlannedListener[];
}
interface PlannedListener {
  readonly listener: Listener;
  readonly host: string;
  readonly isSecure: boolean;
  /** It accepts connections. */
  readonly isServed: boolean;
  readonly kinds: readonly string[];
  readonly findings: readonly Finding[];
  readonly certificates: readonly (CertificateWish & Pick<Scope, "wildcard">)[];
  /** Filled as routes are attached. */
  readonly routes: Route[];
  attached: number;
}

/** A step for each listener, because its certificates may have to be read. */
function* planListeners(gateway: Gateway, owners: Map<string, string>, facts: GatewayFacts): Steps<PlannedGateway> {
  const { namespace } = gateway.metadata;
  const listeners: PlannedListener[] = [];
  for (const listener of gateway.spec.listeners) {
    const { protocol, hostname = "" } = listener;
    const key = `${protocol} ${hostname}`;
    const owner = (hostname && facts.hostOwner(hostname)) || owners.get(key);
    if (!owner) owners.set(key, namespace);
    const hasConflict = owner !== undefined && owner !== namespace;
    listeners.push(planListener(gateway, { listener, hasConflict }, facts));
    yield;
  }
  return { gateway, listeners };
}

/**
 * All Gateways share the addresses of the node. So a host belongs to the namespace that had it first, or another one
 * could take its requests.
 */
const conflict: Finding = {
  ...{ type: "Conflicted", isTrue: true, reason: "HostnameConflict" },
  message: "a Gateway or an Ingress of another namespace has the host",
};

interface ListenerSubject {
  readonly listener: Listener;
  readonly hasConflict: boolean;
}

function planListener(
  gateway: Gateway,
  { listener, hasConflict }: ListenerSubject,
  facts: GatewayFacts,
): PlannedListener {
  const { hostname: host = "", protocol, port, allowedRoutes } = listener;
  const isSecure = protocol === "HTTPS";
  const wanted = allowedRoutes?.kinds ?? [];
  const isOwnKind = ({ group = gatewayGroup, kind }: { group?: string; kind: string }) =>
    group === gatewayGroup && routeKinds.includes(kind);
  const kinds = wanted.length > 0 ? wanted.filter(isOwnKind).map(({ kind }) => kind) : routeKinds;
  const secrets = isSecure ? resolveCertificates(gateway, listener, facts) : { keys: [], fault: undefined };
  const accepted = acceptListener(protocol, port, facts.ports);
  const hasBadKind = wanted.some((one) => !isOwnKind(one));
  const resolved = hasBadKind
    ? bad("ResolvedRefs", "InvalidRouteKinds", "only HTTPRoute and GRPCRoute can be attached")
    : (secrets.fault ?? good("ResolvedRefs"));
  const isServed = accepted.isTrue && !hasConflict && secrets.fault === undefined && kinds.length > 0;
  const programmed = isServed ? good("Programmed") : bad("Programmed", "Invalid", "the listener is not valid");
  return {
    ...{ listener, host, isSecure, isServed, kinds, routes: [], attached: 0 },
    findings: [accepted, programmed, resolved, hasConflict ? conflict : bad("Conflicted", "NoConflicts", "")],
    certificates: secrets.keys.map((secret) => ({ host, secret, rank: rankOf(gateway), wildcard })),
  };
}

/** Only the ports of this component are opened: a Gateway must not take others from the machine. */
function acceptListener(protocol: string, port: number, ports: GatewayFacts["ports"]): Finding {
  if (protocol !== "HTTP" && protocol !== "HTTPS") {
    return bad("Accepted", "UnsupportedProtocol", `the protocol ${protocol} is not supported: use HTTP or HTTPS`);
  }
  const own = protocol === "HTTP" ? ports.http : ports.https;
  if (port === own) return good("Accepted");
  return bad("Accepted", "PortUnavailable", `port ${port} is not available for ${protocol}: use port ${own}`);
}

interface Certificates {
  readonly keys: readonly string[];
  readonly fault: Finding | undefined;
}

function resolveCertificates({ metadata }: Gateway, { tls }: Listener, facts: GatewayFacts): Certificates {
  const invalid = (message: string): Certificates => ({
    keys: [],
    fault: bad("ResolvedRefs", "InvalidCertificateRef", message),
  });
  const keys: string[] = [];
  const { namespace } = metadata;
  for (const ref of tls?.certificateRefs ?? []) {
    const { group = "", kind = "Secret", name } = ref;
    if (group !== "" || kind !== "Secret")
      return invalid(`a certificate of the kind ${kind} is not supported: use a Secret`);
    const to: ObjectRef = { group, kind, name, namespace: ref.namespace ?? namespace };
    if (!isPermitted({ from: { group: gatewayGroup, kind: "Gateway", namespace }, to }, facts.grantsIn)) {
      const message = `no ReferenceGrant allows the reference to secret ${to.namespace}/${name}`;
      return { keys: [], fault: bad("ResolvedRefs", "RefNotPermitted", message) };
    }
    const key = `${to.namespace}/${name}`;
    const fault = facts.secretFault(key);
    if (fault) return invalid(fault);
    keys.push(key);
  }
  return keys.length > 0 ? { keys, fault: undefined } : invalid("the listener has no certificate");
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
  readonly rules: RulesPlan;
  readonly parentRef: ParentRef;
  readonly gateway: PlannedGateway;
  /** How many routes each namespace has so far. */
  readonly sizes: Map<string, number>;
}

function attach({ subject, rules, parentRef, gateway, sizes }: Attachment, facts: GatewayFacts): ParentFindings {
  const { route, kind } = subject;
  const resolved = rules.refFault
    ? bad("ResolvedRefs", rules.refFault.reason, rules.refFault.message)
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
  const hosts = new Map(allowed.map((one) => [one, hostsOf(one.host, route.spec.hostnames ?? [])]));
  const matching = allowed.filter((one) => (hosts.get(one) ?? []).length > 0);
  if (matching.length === 0) {
    return refused("NoMatchingListenerHostname", "no host of the route is a host of a listener");
  }
  if (rules.unsupported) return refused("UnsupportedValue", rules.unsupported);
  const { namespace } = route.metadata;
  const more = matching.reduce((sum, one) => sum + (hosts.get(one) ?? []).length * rules.routes.length, 0);
  const size = (sizes.get(namespace) ?? 0) + more + rules.patterns * routesPerPattern;
  if (size > maxNamespaceRoutes) {
    return refused(
      "UnsupportedValue",
      `the routes of a namespace have more than ${maxNamespaceRoutes} matches, where a regular expression counts as ${routesPerPattern}`,
    );
  }
  sizes.set(namespace, size);
  for (const one of matching) {
    one.attached++;
    for (const host of hosts.get(one) ?? []) for (const own of rules.routes) one.routes.push({ ...own, host });
  }
  return { parentRef, conditions: [good("Accepted"), resolved] };
}

function allowsNamespace(
  { allowedRoutes }: Listener,
  { gateway, route }: { readonly gateway: Gateway; readonly route: GatewayRoute },
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
