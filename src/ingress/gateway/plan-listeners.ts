import { type Steps } from "#lib/async/turns.ts";
import { type HostClaim } from "../routing/host-owners.ts";
import { type CertificateWish } from "../routing/plan-ingress.ts";
import { type Route } from "../routing/route.ts";
import { type Scope } from "../routing/route-table.ts";
import { type TlsRoute } from "../routing/tls-table.ts";
import { bad, type Finding, good } from "./conditions.ts";
import { gatewayGroup } from "./definitions.ts";
import { type GatewayFacts } from "./facts.ts";
import { type Gateway, type GatewayRoute, type Listener, type ObjectRef } from "./kinds.ts";
import { isPermitted } from "./references.ts";

export interface PlannedGateway {
  readonly gateway: Gateway;
  readonly listeners: readonly PlannedListener[];
}
export interface PlannedListener {
  readonly listener: Listener;
  readonly host: string;
  readonly use: ListenerUse;
  /** It accepts connections. */
  readonly isServed: boolean;
  readonly kinds: readonly string[];
  readonly findings: readonly Finding[];
  readonly certificates: readonly (CertificateWish & Pick<Scope, "wildcard">)[];
  /** Filled as routes are attached: those for requests, or those for TLS. */
  readonly routes: Route[];
  readonly tlsRoutes: TlsRoute[];
  attached: number;
}

/** What a listener does with its connections. */
export type ListenerUse = "HTTP" | "HTTPS" | "TLS that ends here" | "TLS that is passed on";

/** What a star of a Gateway stands for. */
export const wildcard = "any labels";

/** The oldest first. */
export const rankOf = ({ metadata }: Gateway | GatewayRoute): string =>
  `${metadata.creationTimestamp ?? "9999"} ${metadata.namespace}/${metadata.name}`;

/** The hosts of the listeners that a Gateway can have. */
export function claimsOf(gateway: Gateway, ports: GatewayFacts["ports"]): HostClaim[] {
  const { namespace } = gateway.metadata;
  return gateway.spec.listeners
    .filter((listener) => acceptListener(listener, ports).isTrue)
    .map(({ hostname: host = "" }) => ({ host, namespace, rank: rankOf(gateway) }));
}

/** The hosts that listeners have so far, by side and host. */
export type TakenHosts = Map<string, { readonly namespace: string; readonly use: ListenerUse }>;

/** Decides about the listeners of the next Gateway. A step for each, because its certificates may have to be read. */
export function* planListeners(gateway: Gateway, taken: TakenHosts, facts: GatewayFacts): Steps<PlannedGateway> {
  const listeners: PlannedListener[] = [];
  for (const listener of gateway.spec.listeners) {
    const accepted = acceptListener(listener, facts.ports);
    const conflict = conflictOf(gateway, { listener, taken }, facts);
    const own = { namespace: gateway.metadata.namespace, use: useOf(listener) };
    if (accepted.isTrue && !conflict && !taken.has(keyOf(listener))) taken.set(keyOf(listener), own);
    listeners.push(planListener(gateway, { listener, accepted, conflict }, facts));
    yield;
  }
  return { gateway, listeners };
}

function useOf({ protocol, tls }: Listener): ListenerUse {
  if (protocol === "TLS") return tls?.mode === "Passthrough" ? "TLS that is passed on" : "TLS that ends here";
  return protocol === "HTTPS" ? "HTTPS" : "HTTP";
}

/** HTTPS and TLS share a port, where the host alone tells them apart. */
const keyOf = (listener: Listener): string =>
  `${useOf(listener) === "HTTP" ? "http" : "https"} ${listener.hostname ?? ""}`;

interface HostSubject {
  readonly listener: Listener;
  readonly taken: TakenHosts;
}

/**
 * All Gateways share the addresses of the node. So a host belongs to the namespace that had it first, or another one
 * could take its requests. Of several Gateways that use a host in different ways, the oldest has it; in one Gateway,
 * there is no winner.
 */
function conflictOf(gateway: Gateway, { listener, taken }: HostSubject, facts: GatewayFacts): Finding | undefined {
  const { namespace } = gateway.metadata;
  const { hostname = "" } = listener;
  const known = taken.get(keyOf(listener));
  const owner = (hostname && facts.hostOwner(hostname)) || known?.namespace;
  if (owner !== undefined && owner !== namespace) return conflict(foreign);
  if (!acceptListener(listener, facts.ports).isTrue) return undefined;
  const isOther = (use: ListenerUse): boolean => use !== useOf(listener);
  const isRival = (one: Listener): boolean =>
    keyOf(one) === keyOf(listener) && isOther(useOf(one)) && acceptListener(one, facts.ports).isTrue;
  if (gateway.spec.listeners.some(isRival)) return conflict("another listener has the port and the host");
  if (known && isOther(known.use)) return conflict(`an older Gateway has the host for ${known.use}`);
  return undefined;
}

const foreign = "a Gateway or an Ingress of another namespace has the host";
const conflict = (message: string): Finding => ({
  ...{ type: "Conflicted", isTrue: true, reason: "HostnameConflict" },
  message,
});

interface ListenerSubject {
  readonly listener: Listener;
  readonly accepted: Finding;
  readonly conflict: Finding | undefined;
}

function planListener(
  gateway: Gateway,
  { listener, accepted, conflict: found }: ListenerSubject,
  facts: GatewayFacts,
): PlannedListener {
  const { hostname: host = "", allowedRoutes } = listener;
  const use = useOf(listener);
  const possible = listener.protocol === "TLS" ? ["TLSRoute"] : ["GRPCRoute", "HTTPRoute"];
  const wanted = allowedRoutes?.kinds ?? [];
  const isOwnKind = ({ group = gatewayGroup, kind }: { group?: string; kind: string }) =>
    group === gatewayGroup && possible.includes(kind);
  const kinds = wanted.length > 0 ? wanted.filter(isOwnKind).map(({ kind }) => kind) : possible;
  const hasCertificates = use === "HTTPS" || use === "TLS that ends here";
  const secrets = hasCertificates ? resolveCertificates(gateway, listener, facts) : { keys: [], fault: undefined };
  const hasBadKind = wanted.some((one) => !isOwnKind(one));
  const resolved = hasBadKind
    ? bad("ResolvedRefs", "InvalidRouteKinds", `only ${possible.toReversed().join(" and ")} can be attached`)
    : (secrets.fault ?? good("ResolvedRefs"));
  const isServed = accepted.isTrue && !found && secrets.fault === undefined && kinds.length > 0;
  const why = found?.message ?? "the listener is not valid";
  const programmed = isServed ? good("Programmed") : bad("Programmed", "Invalid", why);
  return {
    ...{ listener, host, use, isServed, kinds, routes: [], tlsRoutes: [], attached: 0 },
    findings: [accepted, programmed, resolved, found ?? bad("Conflicted", "NoConflicts", "")],
    certificates: secrets.keys.map((secret) => ({ host, secret, rank: rankOf(gateway), wildcard })),
  };
}

/** Only the ports of this component are opened: a Gateway must not take others from the machine. */
function acceptListener({ protocol, port }: Listener, ports: GatewayFacts["ports"]): Finding {
  if (!["HTTP", "HTTPS", "TLS"].includes(protocol)) {
    return bad("Accepted", "UnsupportedProtocol", `the protocol ${protocol} is not supported: use HTTP, HTTPS or TLS`);
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
