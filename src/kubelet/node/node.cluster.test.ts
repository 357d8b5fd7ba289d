import assert from "node:assert/strict";
import { test } from "node:test";
import { Node } from "#api/core/node.ts";
import { startCluster } from "#testing/start-cluster.ts";

const minuteMs = 60_000;

test("an unchanged status is reported every five minutes, however the API writes its quantities", async () => {
  // The API stores 1000 as 1k, and leaves out the list of images, which is empty.
  await using cluster = await startCluster({
    nodes: 1,
    simulation: { capacity: { cpu: "4", memory: "8Gi", pods: "1000" } },
  });
  const version = async () => (await cluster.client.get(Node, { name: "node-1" })).metadata.resourceVersion;
  await cluster.settle();

  const first = await version();
  await cluster.clock.advance(4 * minuteMs);
  assert.equal(await version(), first);
  await cluster.clock.advance(2 * minuteMs);
  assert.notEqual(await version(), first);
});
