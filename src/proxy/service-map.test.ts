import assert from "node:assert/strict";
import { test } from "node:test";
import { Service } from "#api/core/service.ts";
import { type Endpoint, EndpointSlice } from "#api/discovery/endpoint-slice.ts";
import { type InputOf } from "#api/resource.ts";
import { build } from "#testing/build.ts";
import { planService } from "./service-map.ts";

const node = { name: "node-1", zone: "a", family: "IPv4" } as const;

const service = (spec: Partial<Service["spec"]> = {}, more: InputOf<Service> = {}): Service =>
  build(Service, {
    metadata: { namespace: "default", name: "web" },
    spec: {
      type: "ClusterIP",
      sessionAffinity: "None",
      clusterIP: "10.96.0.1",
      ports: [{ name: "http", protocol: "TCP", port: 80 }],
      ...spec,
    },
    status: { loadBalancer: {} },
    ...more,
  });
const slice = (endpoints: Endpoint[], more: InputOf<EndpointSlice> = {}): EndpointSlice =>
  build(EndpointSlice, {
    metadata: { namespace: "default", name: "web-1" },
    addressType: "IPv4",
    ports: [{ name: "http", protocol: "TCP", port: 8080 }],
    endpoints,
    ...more,
  });
const at = (last: number, more: Partial<Endpoint> = {}): Endpoint => ({
  addresses: [`10.244.0.${last}`],
  conditions: { ready: true },
  nodeName: "node-1",
  ...more,
});
const draining = { ready: false, serving: true, terminating: true };
const zones = (...names: string[]) => ({ hints: { forZones: names.map((name) => ({ name })) } });
const nodes = (...names: string[]) => ({ hints: { forNodes: names.map((name) => ({ name })) } });

/** The chosen endpoints, by the last digits of their addresses. */
const choose = (spec: Partial<Service["spec"]>, endpoints: Endpoint[]) => {
  const port = planService(service(spec), [slice(endpoints)], node)?.ports[0];
  const lasts = (targets: readonly { address: string }[] = []) => targets.map(({ address }) => address.split(".")[3]);
  return `${lasts(port?.cluster).join()} local ${lasts(port?.local).join()} any ${port?.hasEndpoints}`;
};

const local = { internalTrafficPolicy: "Local" } as const;
const away = { nodeName: "node-2" };
const cases: readonly (readonly [string, Partial<Service["spec"]>, Endpoint[], string])[] = [
  ["takes those that are ready", {}, [at(2), at(1), at(3, { conditions: { ready: false } })], "1,2 local  any true"],
  ["takes those that do not say", {}, [at(1, { conditions: {} })], "1 local  any true"],
  ["prefers those that are not on their way out", {}, [at(1), at(2, { conditions: draining })], "1 local  any true"],
  ["falls back on those that still serve", {}, [at(2, { conditions: draining })], "2 local  any true"],
  ["has none if none serves", {}, [at(2, { conditions: { ready: false, terminating: true } })], " local  any false"],
  ["knows its own", local, [at(1), at(2, away)], "1,2 local 1 any true"],
  [
    "falls back on its own that still serve",
    local,
    [at(1, { conditions: draining }), at(2, away)],
    "2 local 1 any true",
  ],
  ["follows zone hints", {}, [at(1, zones("a")), at(2, zones("b")), at(3, zones("b", "a"))], "1,3 local  any true"],
  ["ignores zone hints if one is missing", {}, [at(1, zones("a")), at(2)], "1,2 local  any true"],
  ["ignores zone hints if none is ours", {}, [at(1, zones("b")), at(2, zones("c"))], "1,2 local  any true"],
  ["follows node hints", {}, [at(1, nodes("node-1")), at(2, nodes("node-2"))], "1 local  any true"],
  ["ignores node hints if none is ours", {}, [at(1, nodes("x")), at(2, nodes("y"))], "1,2 local  any true"],
];
for (const [name, spec, endpoints, expected] of cases) {
  test(`planService() ${name}`, () => assert.equal(choose(spec, endpoints), expected));
}

test("planService() ignores services that are headless, ExternalName, another proxy's or of another family", () => {
  const labels = { "service.kubernetes.io/service-proxy-name": "other" };

  assert.equal(planService(service({ type: "ExternalName" }), [], node), undefined);
  assert.equal(planService(service({ clusterIP: "None" }), [], node), undefined);
  assert.equal(planService(service({ clusterIP: "" }), [], node), undefined);
  assert.equal(planService(service({}, { metadata: { name: "web", labels } }), [], node), undefined);
  assert.equal(planService(service({ clusterIP: "fd00::1" }), [], node), undefined);
  assert.notEqual(planService(service({ clusterIP: "fd00::1" }), [], { ...node, family: "IPv6" }), undefined);
});

test("planService() plans everything for a load balancer", () => {
  const plan = planService(
    service(
      {
        ...{ type: "LoadBalancer", externalIPs: ["192.0.2.1", "fd00::1"], externalTrafficPolicy: "Local" },
        ...{ healthCheckNodePort: 32000, loadBalancerSourceRanges: ["10.0.0.0/8", "fd00::/8"] },
        sessionAffinity: "ClientIP",
        sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } },
        ports: [{ name: "http", protocol: "TCP", port: 80, nodePort: 30080 }],
      },
      {
        status: {
          loadBalancer: {
            ingress: [
              { ip: "192.0.2.2", ipMode: "VIP" },
              { ip: "192.0.2.3", ipMode: "Proxy" },
            ],
          },
        },
      },
    ),
    [slice([at(1), at(2, away)])],
    node,
  );

  const here = { address: "10.244.0.1", port: 8080, isLocal: true };
  assert.deepEqual(plan, {
    namespace: "default",
    name: "web",
    health: { port: 32000, localEndpoints: 1 },
    ...{ rank: "9999 default/web", size: 10, faults: [] },
    ports: [
      {
        ...{ protocol: "tcp", port: 80, clusterIPs: ["10.96.0.1"], externalIPs: ["192.0.2.1"] },
        ...{ loadBalancerIPs: ["192.0.2.2"], sourceRanges: ["10.0.0.0/8"], nodePort: 30080, affinitySeconds: 60 },
        ...{ internalLocal: false, externalLocal: true, hasEndpoints: true },
        cluster: [here, { address: "10.244.0.2", port: 8080, isLocal: false }],
        local: [here],
      },
    ],
  });
});

test("planService() uses an endpoint of two slices once, and only ports with the same name and protocol", () => {
  const ports: EndpointSlice["ports"] = [
    { name: "http", protocol: "UDP", port: 1 },
    { name: "other", protocol: "TCP", port: 2 },
    { name: "http", protocol: "TCP" },
  ];
  const slices = [
    slice([at(1, { conditions: { ready: false } })]),
    slice([at(1)]),
    slice([at(2)], { ports }),
    slice([at(3)], { addressType: "IPv6" }),
    slice([at(4)], { metadata: { name: "web-2", labels: { "service.kubernetes.io/headless": "" } } }),
  ];

  const [port] = planService(service(), slices, node)?.ports ?? [];

  assert.deepEqual(port?.cluster, [{ address: "10.244.0.1", port: 8080, isLocal: true }]);
});

test("planService() omits what no packet can carry", () => {
  const ports = [
    { name: "a", protocol: "TCP", port: 80 },
    { name: "b", protocol: "TCP", port: 70_000 },
  ] as const;
  const endpoints = [at(1), { addresses: ["10.244.0.2; drop"], conditions: {} }, { addresses: [], conditions: {} }];
  const places = slice(endpoints, { ports: [{ name: "a", protocol: "TCP", port: 8080 }] });
  const nowhere = slice([at(3)], { ports: [{ name: "a", protocol: "TCP", port: -1 }] });
  const external = ["010.1.2.3", "::ffff:10.9.9.9", "1.2.3.4 }", "x".repeat(100_000)];

  const plan = planService(service({ ports: [...ports], externalIPs: external }), [places, nowhere], node);

  assert.deepEqual(
    plan?.ports.map(({ port }) => port),
    [80],
  );
  assert.deepEqual(plan?.ports[0]?.cluster, [{ address: "10.244.0.1", port: 8080, isLocal: true }]);
  assert.deepEqual(plan?.ports[0]?.externalIPs, ["10.1.2.3", "10.9.9.9"]);
  assert.match(plan?.faults.join() ?? "", /a port without a valid number/);
});

test("planService() closes a load balancer with invalid source ranges", () => {
  const spec = { type: "LoadBalancer", loadBalancerSourceRanges: ["10.0.0.0/8", "everybody"] } as const;
  const status = { loadBalancer: { ingress: [{ ip: "192.0.2.2", ipMode: "VIP" }] } };

  const plan = planService(service({ ...spec, loadBalancerSourceRanges: ["10.0.0.0/8", "all"] }, { status }), [], node);

  assert.deepEqual(plan?.ports[0]?.loadBalancerIPs, []);
});

test("planService() gives no rules to a service that needs too many", () => {
  const ports = Array.from(
    { length: 200 },
    (_, index) => ({ name: `p${index}`, protocol: "UDP", port: index + 1 }) as const,
  );
  const externalIPs = Array.from({ length: 200 }, (_, index) => `192.0.2.${index}`);

  const plan = planService(service({ ports, externalIPs }), [], node);

  assert.deepEqual(plan?.ports, []);
  assert.match(plan?.faults[0] ?? "", /more than 20000 entries/);
});
