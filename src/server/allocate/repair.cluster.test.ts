import assert from "node:assert/strict";
import { test } from "node:test";
import { Event } from "#api/core/event.ts";
import { IPAddress } from "#api/networking/ip-address.ts";
import { silentLog } from "#lib/process/log.ts";
import { ensureDefaultServiceCidr } from "#server/default-service-cidr.ts";
import { type Spec, startAllocator } from "./allocator.suite.ts";
import { newClaim } from "./claim-objects.ts";
import { portKey } from "./held.ts";
import { runServiceRepair } from "./repair.ts";
import { defaultServiceRanges } from "./service-allocator.ts";

const spec: Spec = { clusterIP: "10.96.0.99", type: "NodePort", ports: [{ port: 80, nodePort: 30080 }] };
const keys = ["/registry/ipaddresses/10.96.0.99", "/registry/ranges/servicenodeports/30080"];

/** A server with a service, whose repair runs when a test asks for it. */
async function startRepair() {
  const services = await startAllocator();
  const { api, clock } = services;
  const { informers, objects, loopback: client } = api;
  await ensureDefaultServiceCidr(client, defaultServiceRanges.cidrs, { clock, log: silentLog });
  await services.create("web", spec);
  const stop = new AbortController();
  let running: Promise<void> | undefined;
  const deps = { informers, objects, client, clock, log: silentLog, range: defaultServiceRanges.nodePorts };
  return {
    ...services,
    async repair(ms = 1000) {
      running ??= runServiceRepair(deps, stop.signal);
      await clock.advance(ms);
    },
    async reasons() {
      const { items } = await services.client.list(Event);
      return items.map(({ reason }) => reason).sort();
    },
    async [Symbol.asyncDispose]() {
      stop.abort(new Error("the test ends"));
      await running?.catch(() => undefined);
      await services[Symbol.asyncDispose]();
    },
  };
}

test("services of an older server, which made no claims, get them at the start", async () => {
  await using services = await startRepair();
  await services.store.commit(keys.map((key) => ({ key, value: undefined })));
  assert.deepEqual(await services.claims(), []);

  await services.repair();

  assert.deepEqual(await services.claims(), ["10.96.0.99", "30080"]);
  assert.deepEqual(await services.reasons(), ["ClusterIPNotAllocated", "PortNotAllocated"]);
  await services.remove("web");
  assert.deepEqual(await services.claims(), []);
});

test("an IPAddress that somebody deletes or changes comes back as it was", async () => {
  await using services = await startRepair();
  await services.repair();
  const name = "10.96.0.99";

  await services.client.delete(IPAddress, { name });
  await services.repair();
  const again = await services.client.get(IPAddress, { name });
  await services.client.update(IPAddress, { ...again, metadata: { ...again.metadata, labels: {} } });
  await services.repair();

  const { metadata, spec } = await services.client.get(IPAddress, { name });
  assert.equal(spec.parentRef?.name, "web");
  assert.deepEqual(metadata.labels, again.metadata.labels);
});

test("claims without a service go after a minute, but not those of other managers", async () => {
  await using services = await startRepair();
  const of = (name: string, labels: Record<string, string>) =>
    services.client.create(IPAddress, {
      metadata: { name, labels },
      spec: { parentRef: { resource: "services", namespace: "default", name: "gone" } },
    });
  await of("10.96.0.50", { "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io" });
  await of("10.96.0.51", { "ipaddress.kubernetes.io/managed-by": "me" });
  const gone = { metadata: { namespace: "default", name: "gone" } };
  const claim = newClaim(portKey(30081), gone, services.clock.now());
  await services.api.objects.commit({ create: [claim], remove: [] });

  await services.repair(50_000);
  const early = await services.claims();
  await services.repair(150_000);

  assert.deepEqual(early, ["10.96.0.50", "10.96.0.51", "10.96.0.99", "30080", "30081"]);
  assert.deepEqual(await services.claims(), ["10.96.0.51", "10.96.0.99", "30080"]);
  assert.deepEqual(await services.reasons(), ["IPAddressNotAllocated"]);
});

test("a sound cluster is left alone", async () => {
  await using services = await startRepair();
  const before = services.revision();

  await services.repair(600_000);

  assert.equal(services.revision(), before);
});
