import assert from "node:assert/strict";
import { test } from "node:test";
import { Event } from "#api/core/event.ts";
import { Service } from "#api/core/service.ts";
import { runReconcilers } from "#runtime/run-reconciler.ts";
import { startCluster } from "#testing/start-cluster.ts";
import { serviceLbController } from "./service-lb.ts";

test("a port of the nodes belongs to the first service that asks, and to the next one when that is deleted", async () => {
  await using cluster = await startCluster({
    nodes: 1,
    components: (deps) => [(stop) => runReconcilers([serviceLbController], deps, stop)],
  });
  const ref = (name: string) => ({ namespace: "default", name });
  const create = async (name: string) => {
    await cluster.client.create(Service, {
      metadata: ref(name),
      spec: { type: "LoadBalancer", ports: [{ port: 80 }] },
    });
    await cluster.settle();
  };
  const addressesOf = async (name: string) =>
    (await cluster.client.get(Service, ref(name))).status.loadBalancer.ingress?.map(({ ip }) => ip);
  await create("first");
  await create("second");
  const before = [await addressesOf("first"), await addressesOf("second")];
  const told = (await cluster.list(Event)).map(({ reason, involvedObject }) => `${involvedObject.name} ${reason}`);

  await cluster.client.delete(Service, ref("first"));
  await cluster.settle();

  assert.equal(before[0]?.length, 1);
  assert.equal(before[1], undefined);
  assert.ok(told.includes("second PortUnavailable"), told.join());
  assert.deepEqual(await addressesOf("second"), before[0]);
});
