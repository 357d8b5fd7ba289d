import assert from "node:assert/strict";
import { test } from "node:test";
import { type Service } from "#api/core/service.ts";
import { IPAddress } from "#api/networking/ip-address.ts";
import { ServiceCIDR } from "#api/networking/service-cidr.ts";
import { parseCidr } from "#lib/net/ip.ts";
import { openMemoryStore } from "#store/memory.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { type Spec, startAllocator } from "./allocator.suite.ts";
import { defaultServiceRanges } from "./service-allocator.ts";

const nodePorts = ({ spec }: Service): (number | undefined)[] => (spec.ports ?? []).map(({ nodePort }) => nodePort);
const allocated = /provided (IP|port) is already allocated/;

test("one of two concurrent requests for the same address gets it", async () => {
  await using services = await startAllocator();

  const spec = { clusterIP: "10.96.0.99" };
  const results = await Promise.allSettled([services.create("a", spec), services.create("b", spec)]);

  assert.deepEqual(results.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
  const [refused] = results.filter((result) => result.status === "rejected");
  assert.match(String(refused?.reason), allocated);
});

test("an address is free again when its Service is deleted, was refused or was a dry run", async () => {
  await using services = await startAllocator();
  const spec: Spec = { clusterIP: "10.96.0.99", type: "NodePort", ports: [{ port: 80, nodePort: 30080 }] };

  await services.create("dry", spec, true);
  await services.create("a", spec);
  await assert.rejects(services.create("b", { ...spec, clusterIP: "10.96.0.98" }), allocated);
  await services.create("c", { clusterIP: "10.96.0.98" });
  await services.remove("a");
  await services.create("d", spec);
});

test("a Service keeps its address and ports through updates that do not name them", async () => {
  await using services = await startAllocator();
  const created = await services.create("a", { type: "NodePort" });
  const before = services.revision();

  const updated = await services.update("a", { type: "NodePort" });

  assert.equal(updated.spec.clusterIP, created.spec.clusterIP);
  assert.deepEqual(nodePorts(updated), nodePorts(created));
  assert.equal(services.revision(), before);
});

test("a Service that no longer needs an address releases it", async () => {
  await using services = await startAllocator();
  const created = await services.create("a", { type: "NodePort" });
  const { clusterIP = "" } = created.spec;
  const [nodePort = 0] = nodePorts(created);

  const external = await services.update("a", { type: "ExternalName", externalName: "example.com" });
  await services.create("b", { clusterIP, type: "NodePort", ports: [{ port: 80, nodePort }] });
  const back = await services.update("a", { type: "ClusterIP" });

  assert.equal(external.spec.clusterIP, undefined);
  assert.notEqual(back.spec.clusterIP, clusterIP);
  assert.deepEqual(back.spec.clusterIPs, [back.spec.clusterIP]);
});

test("a headless Service neither gets nor releases an address", async () => {
  await using services = await startAllocator();

  const one = await services.create("a", { clusterIP: "None" });
  const other = await services.create("b", { clusterIP: "None" });

  assert.deepEqual([one.spec.clusterIPs, other.spec.clusterIPs], [["None"], ["None"]]);
});

test("one port over TCP and UDP is a single node port, which no other Service gets", async () => {
  await using services = await startAllocator();
  const both = (nodePort?: number): NonNullable<Spec["ports"]> => [
    { name: "dns", port: 53, protocol: "UDP", ...(nodePort ? { nodePort } : {}) },
    { name: "dns-tcp", port: 53, protocol: "TCP" },
  ];

  const dns = await services.create("dns", { type: "NodePort", ports: both() });
  const asked = await services.create("asked", { type: "NodePort", ports: both(30053) });

  const [udp, tcp] = nodePorts(dns);
  assert.equal(udp, tcp);
  assert.deepEqual(nodePorts(asked), [30053, 30053]);
  const other: Spec = { type: "NodePort", ports: [{ port: 80, protocol: "TCP", nodePort: 30053 }] };
  await assert.rejects(services.create("other", other), allocated);
});

test("addresses and ports outside of their ranges are refused", async () => {
  await using services = await startAllocator();
  const valid = /is not in the valid range/;

  for (const clusterIP of ["10.97.0.1", "10.96.0.0", "10.96.255.255"]) {
    await assert.rejects(services.create("a", { clusterIP }), /the provided network does not match the current range/);
  }
  const low: Spec = { type: "NodePort", ports: [{ port: 80, nodePort: 80 }] };
  await assert.rejects(services.create("a", low), valid);
});

test("allocated values come from the upper part of the range until that is full", async () => {
  const ranges = { cidrs: ["10.0.0.0/27"], nodePorts: { min: 30000, max: 30019 } };
  await using services = await startAllocator(ranges);
  const { base } = parseCidr("10.0.0.0/27");
  const offsets: number[] = [];
  const ports: (number | undefined)[] = [];

  for (let i = 0; i < 19; i++) {
    const { spec } = await services.create(`s${i}`, { type: "NodePort" });
    offsets.push(Number(spec.clusterIP?.split(".")[3]) - (base % 256));
    ports.push(spec.ports?.[0]?.nodePort);
  }

  assert.ok(offsets.slice(0, 14).every((offset) => offset > 16 && offset < 31));
  assert.ok(offsets.slice(14).every((offset) => offset >= 1 && offset <= 16));
  assert.ok(ports.slice(0, 4).every((port = 0) => port >= 30016));
  assert.equal(new Set(offsets).size, 19);
  assert.equal(new Set(ports).size, 19);
  await services.create("last", { type: "NodePort" });
  await assert.rejects(services.create("over", { type: "NodePort" }), /failed to allocate a nodePort: range is full/);
});

test("every address and port of a service is claimed by an object that lives as long as it holds them", async () => {
  await using services = await startAllocator();
  const spec: Spec = { clusterIP: "10.96.0.99", type: "NodePort", ports: [{ port: 80, nodePort: 30080 }] };
  const before = services.revision();

  await services.create("dry", spec, true);
  await assert.rejects(services.create("a", { ...spec, ports: [{ port: 80, nodePort: 80 }] }), /valid range/);
  assert.deepEqual(await services.claims(), []);
  await services.create("a", spec);
  assert.deepEqual(await services.claims(), ["10.96.0.99", "30080"]);
  assert.equal(services.revision(), before + 1);

  const { metadata, spec: claimed } = await services.client.get(IPAddress, { name: "10.96.0.99" });
  assert.deepEqual(claimed.parentRef, { resource: "services", namespace: "default", name: "a" });
  assert.deepEqual(metadata.labels, {
    "ipaddress.kubernetes.io/ip-family": "IPv4",
    "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
  });
  await services.update("a", { type: "ExternalName", externalName: "example.com" });
  assert.deepEqual(await services.claims(), []);
  await services.update("a", { ...spec, clusterIP: "10.96.0.98" });
  assert.deepEqual(await services.claims(), ["10.96.0.98", "30080"]);
  await services.remove("a");
  assert.deepEqual(await services.claims(), []);
});

test("a service gives back only what is its own, even if somebody changed the claims", async () => {
  await using services = await startAllocator();
  await services.create("a", { clusterIP: "10.96.0.99" });
  await services.client.delete(IPAddress, { name: "10.96.0.99" });
  const parentRef = { group: "example.com", resource: "gateways", name: "a" };
  await services.client.create(IPAddress, { metadata: { name: "10.96.0.99" }, spec: { parentRef } });

  await services.remove("a");

  assert.deepEqual(await services.claims(), ["10.96.0.99"]);
  await assert.rejects(services.create("b", { clusterIP: "10.96.0.99" }), allocated);
});

test("two servers with one store never give away the same address or port", async () => {
  await using store = openMemoryStore({ clock: createVirtualClock() });
  const ranges = { cidrs: ["10.0.0.0/26"], nodePorts: { min: 30000, max: 30059 } };
  // The same seed: both try the same values in the same order.
  await using one = await startAllocator(ranges, store);
  await using other = await startAllocator(ranges, store);
  const names = Array.from({ length: 25 }, (_, index) => `s${index}`);

  const created = await Promise.all(
    names.flatMap((name) => [
      one.create(name, { type: "NodePort" }),
      other.create(`${name}-other`, { type: "NodePort" }),
    ]),
  );

  assert.equal(new Set(created.map(({ spec }) => spec.clusterIP)).size, 50);
  assert.equal(new Set(created.flatMap(nodePorts)).size, 50);
  assert.equal((await one.claims()).length, 100);
  const asked: Spec = { clusterIP: created[0]?.spec.clusterIP ?? "" };
  await assert.rejects(other.create("asked", asked), allocated);
});

test("a service with more ports than a transaction can hold claims all of them, or none", async () => {
  await using services = await startAllocator();
  const ports = Array.from({ length: 250 }, (_, index) => ({ name: `p${index}`, port: 1000 + index }));

  await services.create("many", { type: "NodePort", ports });
  assert.equal((await services.claims()).length, 251);
  await assert.rejects(services.create("many", { type: "NodePort", ports }), /already exists/);
  assert.equal((await services.claims()).length, 251);
  await services.remove("many");

  assert.deepEqual(await services.claims(), []);
});

const readyCidr = (api: Awaited<ReturnType<typeof startAllocator>>, name: string, cidrs: string[]) =>
  api.client.create(ServiceCIDR, { metadata: { name }, spec: { cidrs } }).then((created) =>
    api.client.updateStatus(ServiceCIDR, {
      ...created,
      status: {
        conditions: [
          { type: "Ready", status: "True", reason: "", message: "", lastTransitionTime: "2026-01-01T00:00:00Z" },
        ],
      },
    }),
  );

test("a Service whose health check gets no port is refused, and holds nothing", async () => {
  await using services = await startAllocator({ ...defaultServiceRanges, nodePorts: { min: 30000, max: 30001 } });
  await services.create("a", { type: "NodePort" });
  const before = await services.claims();
  const local: Spec = { type: "LoadBalancer", externalTrafficPolicy: "Local" };

  const full = /Internal error occurred: failed to allocate a HealthCheck NodePort 0: range is full/;
  await assert.rejects(services.create("b", local), full);
  const [[taken = 0] = []] = [nodePorts(await services.create("c", { type: "NodePort" }))];
  const asked = { ...local, allocateLoadBalancerNodePorts: false, healthCheckNodePort: taken };
  const refused = new RegExp(`requested HealthCheck NodePort ${taken}: provided port is already allocated`);
  await assert.rejects(services.create("d", asked), refused);
  await services.remove("c");

  assert.deepEqual(await services.claims(), before);
});

test("a Service is told only the first thing that it cannot have", async () => {
  await using services = await startAllocator();
  const ports = [80, 81].map((port) => ({ name: `p${port}`, port, nodePort: 29_000 + port }));

  const outside = {
    reason: "Invalid",
    message: /^(?!.*29081).*nodePort: Invalid value: 29080: provided port is not in/,
  };
  await assert.rejects(services.create("a", { type: "NodePort", ports }), outside);
});

test("services get addresses from further ranges when the first is full", async () => {
  await using services = await startAllocator({ ...defaultServiceRanges, cidrs: ["10.0.0.0/30"] });
  await services.create("a");
  await services.create("b");
  const full = /failed to allocate a serviceIP for Service "c": range is full/;

  await assert.rejects(services.create("c"), full);
  await services.client.create(ServiceCIDR, { metadata: { name: "waiting" }, spec: { cidrs: ["10.0.2.0/24"] } });
  await assert.rejects(services.create("c"), full);
  await readyCidr(services, "more", ["10.0.1.0/24"]);
  const { spec } = await services.create("c");

  assert.match(spec.clusterIP ?? "", /^10\.0\.1\./);
  await services.create("asked", { clusterIP: "10.0.1.7" });
  await assert.rejects(services.create("d", { clusterIP: "10.0.2.7" }), /does not match the current range/);
});

test("a cluster with two families gives a service an address of each", async () => {
  await using services = await startAllocator({ ...defaultServiceRanges, cidrs: ["10.96.0.0/16", "fd00:96::/112"] });

  const single = await services.create("single");
  const both = await services.create("both", { ipFamilyPolicy: "PreferDualStack" });
  const six = await services.create("six", { ipFamilies: ["IPv6"] });
  const grown = await services.update("single", { ipFamilyPolicy: "RequireDualStack" });
  const claimed = (await services.claims()).length;
  const shrunk = await services.update("single", { ipFamilyPolicy: "SingleStack" });

  assert.deepEqual(single.spec.ipFamilies, ["IPv4"]);
  assert.deepEqual(both.spec.ipFamilies, ["IPv4", "IPv6"]);
  assert.match(both.spec.clusterIPs?.[1] ?? "", /^fd00:96::/);
  assert.match(six.spec.clusterIP ?? "", /^fd00:96::/);
  assert.deepEqual(grown.spec.clusterIPs?.[0], single.spec.clusterIP);
  assert.deepEqual([grown.spec.clusterIPs?.length, claimed], [2, 5]);
  assert.deepEqual(shrunk.spec.clusterIPs, single.spec.clusterIPs);
  assert.equal((await services.claims()).length, 4);
});
