import assert from "node:assert/strict";
import { test } from "node:test";
import { atOnce } from "#lib/async/turns.ts";
import { TlsTable } from "../routing/tls-table.ts";
import { type GatewayFacts } from "./facts.ts";
import { type Gateway, type GatewayRoute, type Listener } from "./kinds.ts";
import { backend, from, gateway, http, https, listenerSays, plan, route, routeSays } from "./plan-gateways.suite.ts";
import { type GatewaysPlan } from "./plan-gateways.ts";
import { claimsOf } from "./plan-listeners.ts";

const passed = (hostname?: string, change: Partial<Listener> = {}): Listener => ({
  ...{ name: hostname ?? "tls", port: 443, protocol: "TLS", tls: { mode: "Passthrough" } },
  ...(hostname ? { hostname } : {}),
  ...change,
});
const ended = (hostname: string, secret = "good"): Listener =>
  https(secret, { name: hostname, protocol: "TLS", hostname });
const secure = (hostname: string): Listener => https("good", { name: `https ${hostname}`, hostname });
const tlsRoute = (key: string, hostnames: readonly string[], spec: Partial<GatewayRoute["spec"]> = {}, age = 1) =>
  route(key, { hostnames, rules: [{ backendRefs: [backend("db", { port: 5432 })] }], ...spec }, age);

const planned = (
  gateways: readonly Gateway[],
  routes: readonly GatewayRoute[],
  change: Partial<GatewayFacts> = {},
): GatewaysPlan => plan(gateways, [], { routes: routes.map((one) => ({ kind: "TLSRoute", route: one })), ...change });

/** Where a name leads. */
function leadsTo({ tls, https: scopes }: GatewaysPlan, name: string): string {
  const found = atOnce(TlsTable.build(tls, scopes))?.find(name) ?? "http";
  if (typeof found === "string") return found;
  return `${found.isTerminated ? "end " : ""}${found.backends.map(({ key, fault }) => key ?? fault).join()}`;
}

test("a TLSRoute is attached to listeners for TLS of both modes on one port, next to HTTPS", () => {
  const gw = gateway("a/gw", [passed("*.db.example"), ended("end.example"), secure("*.example")]);
  const one = tlsRoute("a/db", ["one.db.example", "end.example", "other.example"]);
  const result = planned([gw], [one]);

  assert.deepEqual(routeSays(result, one), ["Accepted=true Accepted", "ResolvedRefs=true ResolvedRefs"]);
  const { listeners = [] } = result.gateways.get(gw) ?? {};
  assert.deepEqual(
    listeners.map(({ attachedRoutes, kinds }) => `${attachedRoutes} ${kinds.join()}`),
    ["1 TLSRoute", "1 TLSRoute", "0 GRPCRoute,HTTPRoute"],
  );
  for (const at of [0, 1, 2]) assert(listenerSays(result, gw, at).includes("Programmed=true Programmed"));
  // What is passed on may speak any protocol; what ends here may not.
  assert.equal(leadsTo(result, "one.db.example"), "a/db:5432 bytes");
  assert.equal(leadsTo(result, "end.example"), "end a/db:5432");
  assert.equal(leadsTo(result, "two.db.example"), "refuse");
  assert.equal(leadsTo(result, "web.example"), "http");
  assert.deepEqual(
    result.certificates.map(({ host }) => host),
    ["end.example", "*.example"],
  );
});

const refusals: readonly { name: string; listener: Listener; hosts?: readonly string[]; says: string }[] = [
  { name: "for HTTP", listener: http(), says: "NotAllowedByListeners" },
  { name: "for HTTPS", listener: secure("db.example"), says: "NotAllowedByListeners" },
  { name: "with another host", listener: passed("web.example"), says: "NoMatchingListenerHostname" },
  {
    name: "that takes other kinds",
    listener: passed("db.example", { allowedRoutes: { kinds: [{ kind: "TCPRoute" }] } }),
    says: "NotAllowedByListeners",
  },
];
for (const { name, listener, says } of refusals) {
  test(`a listener ${name} takes no TLSRoute`, () => {
    const one = tlsRoute("a/db", ["db.example"]);
    const result = planned([gateway("a/gw", [listener])], [one]);

    assert.equal(routeSays(result, one)[0], `Accepted=false ${says}`);
    assert.notEqual(leadsTo(result, "db.example"), "a/db:5432 bytes");
  });
}

test("a listener for TLS takes no HTTPRoute", () => {
  const one = route("a/web", { hostnames: ["db.example"] });
  const result = plan([gateway("a/gw", [passed()])], [one]);

  assert.equal(routeSays(result, one)[0], "Accepted=false NotAllowedByListeners");
  assert.equal(leadsTo(result, "db.example"), "refuse");
});

const faulty: readonly { name: string; listener: Listener; says: string }[] = [
  { name: "on another port", listener: passed("db.example", { port: 80 }), says: "Accepted=false PortUnavailable" },
  {
    name: "without its certificate",
    listener: ended("db.example", "none"),
    says: "ResolvedRefs=false InvalidCertificateRef",
  },
  {
    name: "for a kind that it cannot have",
    listener: passed("db.example", { allowedRoutes: { kinds: [{ kind: "HTTPRoute" }] } }),
    says: "ResolvedRefs=false InvalidRouteKinds",
  },
];
for (const { name, listener, says } of faulty) {
  test(`a listener for TLS ${name} is not programmed`, () => {
    const gw = gateway("a/gw", [listener]);
    const result = planned([gw], [tlsRoute("a/db", ["db.example"])]);

    for (const one of [says, "Programmed=false Invalid"]) assert(listenerSays(result, gw).includes(one));
    assert.equal(leadsTo(result, "db.example"), "http");
  });
}

test("a missing backend keeps its share of the connections, and the route says so", () => {
  const one = tlsRoute("a/db", ["db.example"], {
    rules: [{ backendRefs: [backend("gone", { weight: 8 }), backend("db")] }],
  });
  const result = planned([gateway("a/gw", [passed()])], [one]);

  assert.deepEqual(routeSays(result, one), ["Accepted=true Accepted", "ResolvedRefs=false BackendNotFound"]);
  assert.equal(leadsTo(result, "db.example"), "no such service,a/db:80 bytes");
});

test("in one Gateway, HTTPS and TLS for the same host both lose it, and the others stay", () => {
  const gw = gateway("a/gw", [passed("db.example"), secure("db.example"), passed("*.example"), http()]);
  const result = planned([gw], [tlsRoute("a/db", ["db.example", "x.example"])]);

  for (const at of [0, 1]) {
    assert(listenerSays(result, gw, at).includes("Conflicted=true HostnameConflict"));
    assert(listenerSays(result, gw, at).includes("Programmed=false Invalid"));
  }
  const [, programmed] = result.gateways.get(gw)?.listeners[0]?.conditions ?? [];
  assert.equal(programmed?.message, "another listener has the port and the host");
  for (const at of [2, 3]) assert(listenerSays(result, gw, at).includes("Conflicted=false NoConflicts"));
  assert.equal(result.https.length, 0);
  assert.equal(leadsTo(result, "x.example"), "a/db:5432 bytes");
});

test("of two Gateways that use a host in different ways, the older one has it", () => {
  const old = gateway("a/old", [passed("db.example")], 1);
  const young = gateway("a/young", [ended("db.example"), secure("db.example"), secure("web.example")], 2);
  const same = gateway("a/same", [passed("db.example")], 3);
  const result = planned([young, same, old], [tlsRoute("a/db", ["db.example"], { parentRefs: [{ name: "old" }] })]);

  assert(listenerSays(result, old).includes("Conflicted=false NoConflicts"));
  for (const at of [0, 1]) assert(listenerSays(result, young, at).includes("Conflicted=true HostnameConflict"));
  assert(listenerSays(result, young, 2).includes("Conflicted=false NoConflicts"));
  assert(listenerSays(result, same).includes("Conflicted=false NoConflicts"));
  assert.equal(leadsTo(result, "db.example"), "a/db:5432 bytes");
});

test("no namespace gets connections for a host of another one", () => {
  const hostOwner = (host: string) => (host === "bank.example" ? "bank" : undefined);
  const evil = gateway("evil/gw", [passed()], 2);
  const steal = tlsRoute("evil/steal", ["bank.example", "evil.example"]);
  const result = planned([evil], [steal], { hostOwner });

  assert.equal(leadsTo(result, "bank.example"), "refuse");
  assert.equal(leadsTo(result, "evil.example"), "evil/db:5432 bytes");
  // A listener without a host belongs to whoever had one first, for HTTPS and TLS together.
  const bank = gateway("bank/gw", [https("good")], 1);
  assert(listenerSays(planned([evil, bank], [steal]), evil).includes("Conflicted=true HostnameConflict"));
  assert.deepEqual(
    claimsOf(gateway("a/gw", [passed("db.example")]), { http: 80, https: 443 }).map(({ host }) => host),
    ["db.example"],
  );
});

test("of routes for the same host, the oldest has it", () => {
  const [young, old] = [tlsRoute("a/young", ["db.example"], {}, 2), tlsRoute("b/old", ["db.example"], {}, 1)];
  const parentRefs = [{ name: "gw", namespace: "a" }];
  const other = { ...old, spec: { ...old.spec, parentRefs } };
  const result = planned([gateway("a/gw", [passed(undefined, from("All"))])], [young, other]);

  assert.equal(leadsTo(result, "db.example"), "b/db:5432 bytes");
});

test("a namespace with too many hosts keeps its oldest routes", () => {
  const hosts = (at: number) => Array.from({ length: 1_000 }, (_, index) => `h${index}.r${at}.example`);
  const routes = Array.from({ length: 6 }, (_, at) => tlsRoute(`a/r${at}`, hosts(at), {}, at));
  const result = planned([gateway("a/gw", [passed("*.example")])], routes);

  assert.deepEqual(
    routes.map((one) => routeSays(result, one)[0]),
    [...Array(5).fill("Accepted=true Accepted"), "Accepted=false UnsupportedValue"],
  );
});
