import assert from "node:assert/strict";
import { test } from "node:test";
import { Event } from "#api/core/event.ts";
import { Node } from "#api/core/node.ts";
import { runReconcilers } from "#runtime/run-reconciler.ts";
import { startCluster } from "#testing/start-cluster.ts";
import { nodeIpamController } from "./node-ipam.ts";

test("a node gets no range from a full pool, but an event, and gets one when another node is deleted", async () => {
  const ipam = nodeIpamController({ clusterCidr: "10.9.0.0/24", nodeCidrBits: 24 });
  await using cluster = await startCluster({
    controllers: false,
    components: (deps) => [(stop) => runReconcilers([ipam], { ...deps, component: "cidrAllocator" }, stop)],
  });
  await cluster.client.create(Node, { metadata: { name: "a" } });
  await cluster.settle();
  await cluster.client.create(Node, { metadata: { name: "b" } });
  await cluster.settle();
  const before = (await cluster.list(Node)).map(({ spec }) => spec.podCIDR);
  const [event] = await cluster.list(Event);

  await cluster.client.delete(Node, { name: "a" });
  await cluster.clock.advance(120_000);

  assert.deepEqual(before, ["10.9.0.0/24", undefined]);
  assert.deepEqual(
    [event?.reason, event?.involvedObject.name, event?.source.component],
    ["CIDRNotAvailable", "b", "cidrAllocator"],
  );
  assert.deepEqual(
    (await cluster.list(Node)).map(({ spec }) => spec.podCIDR),
    ["10.9.0.0/24"],
  );
});
