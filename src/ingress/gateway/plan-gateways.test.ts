import assert from "node:assert/strict";
import { test } from "node:test";
import { atOnce } from "#lib/async/turns.ts";
import { RouteTable } from "../routing/route-table.ts";
import { type Gateway, type GatewayRoute, type Listener, type ReferenceGrant } from "./kinds.ts";
import {
  backend,
  factsOf,
  from,
  gateway,
  http,
  https,
  listenerSays,
  meta,
  plan,
  route,
  routeSays,
  says,
} from "./plan-gateways.suite.ts";
import { type GatewaysPlan, hostsOf, planGateways } from "./plan-gateways.ts";
import { claimsOf } from "./plan-listeners.ts";
import { milliseconds } from "./plan-rules.ts";

function answer(
  planned: GatewaysPlan,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): string | undefined {
  const [method = "", host = "", url = "/"] = text.split(" ");
  const [path = "", search] = url.split("?");
  const table = atOnce(RouteTable.build({ scopes: planned.http, fallbacks: [] }));
  const request = { method, host, path, search: search ? `?${search}` : "", header: (name: string) => headers[name] };
  const action = table.match(request)?.action;
  if (action?.type === "forward") return action.backends.map(({ key, fault }) => key ?? fault).join();
  return action?.type;
}

test("a route is attached to the Gateway that it names, and both say so", () => {
  const gw = gateway("a/gw", [http()]);
  const web = route("a/web");
  const planned = plan([gw], [web]);

  assert.deepEqual(routeSays(planned, web), ["Accepted=true Accepted", "ResolvedRefs=true ResolvedRefs"]);
  assert.deepEqual(says(planned.gateways.get(gw)?.conditions), [
    "Accepted=true Accepted",
    "Programmed=true Programmed",
  ]);
  assert.deepEqual(listenerSays(planned, gw), [
    "Accepted=true Accepted",
    "Programmed=true Programmed",
    "ResolvedRefs=true ResolvedRefs",
    "Conflicted=false NoConflicts",
  ]);
  assert.equal(planned.gateways.get(gw)?.listeners[0]?.attachedRoutes, 1);
  assert.equal(answer(planned, "GET x.example /"), "a/web:80");
});

const refusals: readonly { name: string; gateway: Gateway; route: GatewayRoute; says: string }[] = [
  {
    name: "of another namespace",
    gateway: gateway("a/gw", [http()]),
    route: route("b/web", { parentRefs: [{ name: "gw", namespace: "a" }] }),
    says: "Accepted=false NotAllowedByListeners",
  },
  {
    name: "of a namespace with other labels",
    gateway: gateway("a/gw", [
      http({ allowedRoutes: { namespaces: { from: "Selector", selector: { matchLabels: { name: "c" } } } } }),
    ]),
    route: route("b/web", { parentRefs: [{ name: "gw", namespace: "a" }] }),
    says: "Accepted=false NotAllowedByListeners",
  },
  {
    name: "of a kind that the listener does not take",
    gateway: gateway("a/gw", [http({ allowedRoutes: { kinds: [{ kind: "GRPCRoute" }] } })]),
    route: route("a/web"),
    says: "Accepted=false NotAllowedByListeners",
  },
  {
    name: "that names no listener",
    gateway: gateway("a/gw", [http()]),
    route: route("a/web", { parentRefs: [{ name: "gw", sectionName: "other" }] }),
    says: "Accepted=false NoMatchingParent",
  },
  {
    name: "that names no port",
    gateway: gateway("a/gw", [http()]),
    route: route("a/web", { parentRefs: [{ name: "gw", port: 81 }] }),
    says: "Accepted=false NoMatchingParent",
  },
  {
    name: "with other hosts",
    gateway: gateway("a/gw", [http({ hostname: "*.shop.example" })]),
    route: route("a/web", { hostnames: ["shop.example"] }),
    says: "Accepted=false NoMatchingListenerHostname",
  },
  {
    name: "with a pattern that is none",
    gateway: gateway("a/gw", [http()]),
    route: route("a/web", { rules: [{ matches: [{ path: { type: "RegularExpression", value: "/(a" } }] }] }),
    says: "Accepted=false UnsupportedValue",
  },
  {
    name: "with a filter that nobody knows",
    gateway: gateway("a/gw", [http()]),
    route: route("a/web", { rules: [{ filters: [{ type: "ExtensionRef" }] }] }),
    says: "Accepted=false UnsupportedValue",
  },
  {
    name: "that changes where a message ends",
    gateway: gateway("a/gw", [http()]),
    route: route("a/web", {
      rules: [
        {
          filters: [
            { type: "RequestHeaderModifier", requestHeaderModifier: { set: [{ name: "Content-Length", value: "0" }] } },
          ],
        },
      ],
    }),
    says: "Accepted=false UnsupportedValue",
  },
];
for (const { name, gateway: gw, route: one, says: expected } of refusals) {
  test(`a route ${name} is refused`, () => {
    const planned = plan([gw], [one]);

    assert.equal(routeSays(planned, one)[0], expected);
    assert.equal(answer(planned, "GET shop.example /"), undefined);
  });
}

test("a route without a Gateway of ours gets no status from us", () => {
  assert.equal(plan([], [route("a/web")]).routes.size, 0);
});

const listeners: readonly { name: string; listener: Listener; says: readonly string[] }[] = [
  { name: "another port", listener: http({ port: 22 }), says: ["Accepted=false PortUnavailable"] },
  { name: "the port of another protocol", listener: http({ port: 443 }), says: ["Accepted=false PortUnavailable"] },
  { name: "an unknown protocol", listener: http({ protocol: "TCP" }), says: ["Accepted=false UnsupportedProtocol"] },
  { name: "a missing secret", listener: https("none"), says: ["ResolvedRefs=false InvalidCertificateRef"] },
  { name: "a secret of another namespace", listener: https("b/good"), says: ["ResolvedRefs=false RefNotPermitted"] },
  {
    name: "an unknown kind of routes",
    listener: http({ allowedRoutes: { kinds: [{ kind: "PizzaRoute" }] } }),
    says: ["ResolvedRefs=false InvalidRouteKinds"],
  },
];
for (const { name, listener, says: expected } of listeners) {
  test(`a listener with ${name} is not programmed`, () => {
    const gw = gateway("a/gw", [listener]);
    const planned = plan([gw], []);

    const said = listenerSays(planned, gw);
    for (const one of [...expected, "Programmed=false Invalid"]) assert(said.includes(one), said.join(", "));
    assert.deepEqual(says(planned.gateways.get(gw)?.conditions), [
      "Accepted=false ListenersNotValid",
      "Programmed=false Invalid",
    ]);
  });
}

test("a grant allows a secret of another namespace, and nothing else there", () => {
  const grant = (name?: string): ReferenceGrant => ({
    metadata: meta("b/grant"),
    spec: {
      from: [{ group: "gateway.networking.k8s.io", kind: "Gateway", namespace: "a" }],
      to: [{ group: "", kind: "Secret", ...(name ? { name } : {}) }],
    },
  });
  const gw = gateway("a/gw", [https("b/good")]);
  const isServed = (grants: readonly ReferenceGrant[]) =>
    plan([gw], [], { grantsIn: (namespace) => (namespace === "b" ? grants : []) }).certificates.length === 1;

  assert.equal(isServed([grant()]), true);
  assert.equal(isServed([grant("good")]), true);
  assert.equal(isServed([grant("other")]), false);
});

test("a host belongs to the namespace that had it first, as a Gateway or as an Ingress", () => {
  const old = gateway("a/gw", [http({ hostname: "shop.example" })], 1);
  const evil = gateway("evil/gw", [http({ hostname: "shop.example" })], 2);
  const web = route("a/web");
  const login = route("evil/login", {
    rules: [{ matches: [{ path: { type: "Exact", value: "/login" } }], backendRefs: [backend("steal")] }],
  });
  const planned = plan([evil, old], [web, login]);

  assert.equal(answer(planned, "GET shop.example /login"), "a/web:80");
  assert(listenerSays(planned, evil).includes("Conflicted=true HostnameConflict"));
  const byIngress = plan([old], [web], { hostOwner: (host) => (host === "shop.example" ? "b" : undefined) });
  assert.equal(answer(byIngress, "GET shop.example /"), undefined);
});

test("certificates of many listeners are read in many steps", () => {
  let reads = 0;
  let most = 0;
  const secretFault = () => void reads++;
  const listeners = Array.from({ length: 64 }, (_, at) => https("a/good", { hostname: `h${at}.example` }));
  const steps = planGateways({ ...factsOf([gateway("a/gw", listeners)], []), secretFault });
  for (let before = 0; !steps.next().done; before = reads) most = Math.max(most, reads - before);

  assert.equal(reads, 64);
  assert.equal(most, 1);
});

test("claimsOf() names the hosts of listeners that can be served, with their age", () => {
  const listeners = [http({ hostname: "shop.example" }), http({ hostname: "other.example", port: 81 })];
  const [claim, ...more] = claimsOf(gateway("a/gw", listeners, 1), { http: 80, https: 443 });

  assert.equal(claim?.host, "shop.example");
  assert.equal(claim?.namespace, "a");
  assert.match(claim?.rank ?? "", /^20\S+Z a\/gw$/);
  assert.deepEqual(more, []);
});

test("a backend that does not exist keeps its share, and the route says so", () => {
  const one = route("a/web", { rules: [{ backendRefs: [backend("web"), backend("gone")] }] });
  const planned = plan([gateway("a/gw", [http()])], [one]);

  assert.deepEqual(routeSays(planned, one), ["Accepted=true Accepted", "ResolvedRefs=false BackendNotFound"]);
  assert.equal(answer(planned, "GET x /"), "a/web:80,no such service");
});

test("matches are compared as upstream orders them", () => {
  const rule = (name: string, match: object) => ({ matches: [match], backendRefs: [backend(name)] });
  const one = route("a/web", {
    hostnames: ["*.example"],
    rules: [
      rule("root", { path: { type: "PathPrefix", value: "/" } }),
      rule("api", { path: { type: "PathPrefix", value: "/api/" } }),
      rule("post", { path: { type: "PathPrefix", value: "/api" }, method: "POST" }),
      rule("canary", { path: { type: "PathPrefix", value: "/api" }, headers: [{ name: "X-Canary", value: "1" }] }),
      rule("query", { path: { type: "PathPrefix", value: "/api" }, queryParams: [{ name: "v", value: "2" }] }),
      rule("exact", { path: { type: "Exact", value: "/api/one" } }),
    ],
  });
  const planned = plan([gateway("a/gw", [http()])], [one]);

  assert.equal(answer(planned, "GET a.b.example /x"), "a/root:80");
  assert.equal(answer(planned, "GET a.example /api"), "a/api:80");
  assert.equal(answer(planned, "GET a.example /apis"), "a/root:80");
  assert.equal(answer(planned, "POST a.example /api/x", { "x-canary": "1" }), "a/post:80");
  assert.equal(answer(planned, "GET a.example /api/x", { "x-canary": "1" }), "a/canary:80");
  assert.equal(answer(planned, "GET a.example /api/x?v=2"), "a/query:80");
  assert.equal(answer(planned, "GET a.example /api/one"), "a/exact:80");
  assert.equal(answer(planned, "GET example /"), undefined);
});

test("a route may come from every namespace that the listener allows", () => {
  const one = route("b/web", { parentRefs: [{ name: "gw", namespace: "a" }] });

  assert.equal(answer(plan([gateway("a/gw", [http(from("All"))])], [one]), "GET x /"), "b/web:80");
});

test("calls of gRPC are paths", () => {
  const one = route("a/grpc", {
    rules: [
      { matches: [{ method: { service: "shop.v1.Orders", method: "Get" } }], backendRefs: [backend("get")] },
      { matches: [{ method: { service: "shop.v1.Orders" } }], backendRefs: [backend("orders")] },
    ],
  });
  const planned = plan([gateway("a/gw", [http()])], [], { routes: [{ kind: "GRPCRoute", route: one }] });

  assert.equal(answer(planned, "POST x /shop.v1.Orders/Get"), "a/get:80");
  assert.equal(answer(planned, "POST x /shop.v1.Orders/Put"), "a/orders:80");
  assert.equal(answer(planned, "GET x /shop.v1.Orders/Put"), undefined);
  assert.equal(answer(planned, "POST x /shop.v1.OrdersX/Put"), undefined);
});

test("a namespace with too many matches keeps its oldest routes", () => {
  const many = Array.from({ length: 16 }, (_, at) => ({
    matches: Array.from({ length: 8 }, (__, index) => ({ path: { type: "Exact", value: `/${at}/${index}` } })),
    backendRefs: [backend("web")],
  }));
  const hostnames = Array.from({ length: 16 }, (_, index) => `h${index}.example`);
  const routes = ["a/r1", "a/r2", "a/r3"].map((key, index) => route(key, { rules: many, hostnames }, index));
  const fine = route("b/web", { parentRefs: [{ name: "gw", namespace: "a" }] }, 9);
  const planned = plan([gateway("a/gw", [http(from("All"))])], [...routes, fine]);

  assert.deepEqual(
    [...routes, fine].map((one) => routeSays(planned, one)[0]),
    ["Accepted=true Accepted", "Accepted=true Accepted", "Accepted=false UnsupportedValue", "Accepted=true Accepted"],
  );
});

test("a namespace with too many regular expressions keeps its oldest routes", () => {
  const patterns = (at: number) =>
    Array.from({ length: 16 }, (_, index) => ({
      matches: [{ path: { type: "RegularExpression", value: `/${at}/${index}/.*` } }],
      backendRefs: [backend("web")],
    }));
  const routes = Array.from({ length: 20 }, (_, at) => route(`a/r${at}`, { rules: patterns(at) }, at));
  const planned = plan([gateway("a/gw", [http()])], routes);
  const said = routes.map((one) => routeSays(planned, one)[0]);

  assert.equal(said[0], "Accepted=true Accepted");
  assert.equal(said.at(-1), "Accepted=false UnsupportedValue");
});

const hosts: readonly (readonly [listener: string, route: readonly string[], common: readonly string[]])[] = [
  ["", [], [""]],
  ["", ["a.example"], ["a.example"]],
  ["a.example", [], ["a.example"]],
  ["*.example", ["a.example", "b.other"], ["a.example"]],
  ["a.example", ["*.example"], ["a.example"]],
  ["*.example", ["*.a.example"], ["*.a.example"]],
  ["*.a.example", ["*.example"], ["*.a.example"]],
  ["*.example", ["example"], []],
  ["a.example", ["b.example"], []],
];
for (const [listener, own, common] of hosts) {
  test(`a listener for ${listener || "every host"} and a route for ${own.join(" ") || "every host"} share ${common.join() || "none"}`, () =>
    assert.deepEqual(hostsOf(listener, own), common));
}

test("durations are read", () => {
  assert.equal(milliseconds("1h30m"), 5_400_000);
  assert.equal(milliseconds("500ms"), 500);
  assert.equal(milliseconds("0s"), undefined);
  assert.equal(milliseconds(undefined), undefined);
});
