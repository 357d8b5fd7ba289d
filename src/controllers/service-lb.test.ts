import assert from "node:assert/strict";
import { test } from "node:test";
import { Node } from "#api/core/node.ts";
import { Service } from "#api/core/service.ts";
import { read } from "#api/faults.suite.ts";
import { planLoadBalancer, planWaking } from "./service-lb.ts";

function service(name: string, age: number, spec: object, status: object = {}): Service {
  const creationTimestamp = `2026-01-01T00:00:0${age}Z`;
  const whole = { type: "LoadBalancer", ipFamilies: ["IPv4"], ports: [{ port: 80 }], ...spec };
  return read(Service, { metadata: { namespace: "a", name, creationTimestamp }, spec: whole, status }) as Service;
}

function node(name: string, addresses: readonly string[], change: object = {}, ready = "True"): Node {
  return read(Node, {
    metadata: { name, ...change },
    status: {
      conditions: [{ type: "Ready", status: ready }],
      addresses: addresses.map((text) => {
        const [type, address] = text.split(" ");
        return { type, address };
      }),
    },
  }) as Node;
}

const nodes = [
  node("n1", ["InternalIP 192.0.2.1", "InternalIP fd00::1"]),
  node("n2", ["InternalIP 10.0.0.2", "ExternalIP 192.0.2.2"]),
  node("n3", ["InternalIP 192.0.2.3"], {}, "False"),
  node("n4", ["InternalIP 192.0.2.4"], { labels: { "node.kubernetes.io/exclude-from-external-load-balancers": "" } }),
];
const points = (one: Service, services: readonly Service[] = [one]) => {
  const { loadBalancer } = planLoadBalancer(one, { services, nodes });
  return loadBalancer && (loadBalancer.ingress ?? []).map(({ ip, ipMode }) => `${ip} ${ipMode}`);
};

test("a LoadBalancer service gets the addresses of ready nodes, of its families", () => {
  assert.deepEqual(points(service("web", 1, {})), ["192.0.2.1 VIP", "192.0.2.2 VIP"]);
  assert.deepEqual(points(service("web", 1, { ipFamilies: ["IPv6"] })), ["fd00::1 VIP"]);
});

test("a service of a class is somebody else's", () => {
  assert.equal(points(service("web", 1, { loadBalancerClass: "acme.io/lb" })), undefined);
});

test("the oldest service keeps a port that two want", () => {
  const [old, young] = [service("old", 1, {}), service("young", 2, {})];
  const other = service("other", 3, { ports: [{ port: 80, protocol: "UDP" }] });
  const all = [old, young, other];

  assert.equal(points(old, all)?.length, 2);
  assert.deepEqual(points(young, all), []);
  assert.match(planLoadBalancer(young, { services: all, nodes }).fault ?? "", /older LoadBalancer service/);
  assert.equal(points(other, all)?.length, 2);
});

test("a service that is no longer balanced gives its addresses back", () => {
  const status = { loadBalancer: { ingress: [{ ip: "192.0.2.1", ipMode: "VIP" }] } };

  assert.deepEqual(points(service("web", 1, { type: "ClusterIP" }, status)), []);
  assert.equal(points(service("web", 1, { type: "ClusterIP" })), undefined);
});

test("a change of a service wakes those that want the same port, and no others", () => {
  const web = service("web", 1, {});
  const all = [web, service("twin", 2, {}), service("other", 3, { ports: [{ port: 81 }] })];
  const woken = (object: Service, previous?: Service) =>
    planWaking({ type: "put", object, previous, trace: undefined }, () => all).map(({ metadata }) => metadata.name);
  const addressed = service("web", 1, {}, { loadBalancer: { ingress: [{ ip: "192.0.2.1" }] } });

  assert.deepEqual(woken(web), ["web", "twin"]);
  assert.deepEqual(woken(addressed, web), []);
  assert.deepEqual(woken(service("web", 1, { ports: [{ port: 81 }] }), web), ["web", "twin", "other"]);
  assert.deepEqual(woken(service("web", 1, { type: "ClusterIP" }), web), ["web", "twin"]);
  assert.deepEqual(woken(service("plain", 1, { type: "ClusterIP" })), []);
  const gone = planWaking({ type: "delete", object: web, trace: undefined }, () => all.slice(1));
  assert.deepEqual(gone, all.slice(1, 2));
});
