import assert from "node:assert/strict";
import { test } from "node:test";
import { Service } from "#api/core/service.ts";
import { type InputOf } from "#api/resource.ts";
import { assembleApiServer } from "#cluster/api-server.ts";
import { bootstrapCluster } from "#cluster/bootstrap.ts";
import { signingKey } from "#lib/crypto/jwt.ts";
import { createKey, keyToPem } from "#lib/crypto/x509.ts";
import { seededRandom } from "#lib/data/random.ts";
import { parseCidr } from "#lib/net/ip.ts";
import { silentLog } from "#lib/process/log.ts";
import { openMemoryStore } from "#store/memory.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { defaultServiceRanges, type ServiceRanges } from "./service-allocator.ts";

type Spec = NonNullable<InputOf<Service>["spec"]>;

async function start(ranges: ServiceRanges = defaultServiceRanges) {
  const clock = createVirtualClock();
  const store = openMemoryStore({ clock });
  const api = await assembleApiServer({
    store,
    clock,
    log: silentLog,
    random: seededRandom(1),
    signingKey: signingKey(keyToPem(createKey())),
    serverAddress: "127.0.0.1:6443",
    serviceRanges: ranges,
  });
  const client = api.clientFor({ name: "admin", groups: ["system:masters"] });
  await bootstrapCluster(client);
  const ref = (name: string) => ({ namespace: "default", name });
  const http = [{ port: 80 }];
  return {
    create: (name: string, spec: Spec = {}, dryRun = false) =>
      client.create(Service, { metadata: ref(name), spec: { ports: http, ...spec } }, { dryRun }),
    update: (name: string, spec: Spec) =>
      client.update(Service, { metadata: ref(name), spec: { ports: http, ...spec } }),
    remove: (name: string) => client.delete(Service, ref(name)),
    revision: () => store.revision,
    async [Symbol.asyncDispose]() {
      await api[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
    },
  };
}

const nodePorts = ({ spec }: Service): (number | undefined)[] => (spec.ports ?? []).map(({ nodePort }) => nodePort);
const allocated = /provided (IP|port) is already allocated/;

test("one of two concurrent requests for the same address gets it", async () => {
  await using services = await start();

  const spec = { clusterIP: "10.96.0.99" };
  const results = await Promise.allSettled([services.create("a", spec), services.create("b", spec)]);

  assert.deepEqual(results.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
  const [refused] = results.filter((result) => result.status === "rejected");
  assert.match(String(refused?.reason), allocated);
});

test("an address is free again when its Service is deleted, was refused or was a dry run", async () => {
  await using services = await start();
  const spec: Spec = { clusterIP: "10.96.0.99", type: "NodePort", ports: [{ port: 80, nodePort: 30080 }] };

  await services.create("dry", spec, true);
  await services.create("a", spec);
  await assert.rejects(services.create("b", { ...spec, clusterIP: "10.96.0.98" }), allocated);
  await services.create("c", { clusterIP: "10.96.0.98" });
  await services.remove("a");
  await services.create("d", spec);
});

test("a Service keeps its address and ports through updates that do not name them", async () => {
  await using services = await start();
  const created = await services.create("a", { type: "NodePort" });
  const before = services.revision();

  const updated = await services.update("a", { type: "NodePort" });

  assert.equal(updated.spec.clusterIP, created.spec.clusterIP);
  assert.deepEqual(nodePorts(updated), nodePorts(created));
  assert.equal(services.revision(), before);
});

test("a Service that no longer needs an address releases it", async () => {
  await using services = await start();
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
  await using services = await start();

  const one = await services.create("a", { clusterIP: "None" });
  const other = await services.create("b", { clusterIP: "None" });

  assert.deepEqual([one.spec.clusterIPs, other.spec.clusterIPs], [["None"], ["None"]]);
});

test("one port over TCP and UDP is a single node port, which no other Service gets", async () => {
  await using services = await start();
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
  await using services = await start();
  const valid = /is not in the valid range/;

  await assert.rejects(services.create("a", { clusterIP: "10.97.0.1" }), /does not match the current range/);
  for (const clusterIP of ["10.96.0.0", "10.96.255.255"])
    await assert.rejects(services.create("a", { clusterIP }), valid);
  const low: Spec = { type: "NodePort", ports: [{ port: 80, nodePort: 80 }] };
  await assert.rejects(services.create("a", low), valid);
});

test("allocated values come from the upper part of the range until that is full", async () => {
  const ranges = { cidr: "10.0.0.0/27", nodePorts: { min: 30000, max: 30019 } };
  await using services = await start(ranges);
  const { base } = parseCidr(ranges.cidr);
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
