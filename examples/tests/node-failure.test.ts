import assert from "node:assert/strict";
import { test } from "node:test";
import { Deployment } from "orlop/api/apps/deployment.ts";
import { Pod } from "orlop/api/core/pod.ts";
import { startCluster } from "orlop/testing";
import { seed, web } from "./web.ts";

test("pods of a failed zone are replaced after five minutes", async () => {
  await using cluster = await startCluster({ nodes: 4, seed, simulation: { zones: ["a", "b"] } });
  await cluster.apply(Deployment, web(4));
  await cluster.settle();

  const recover = await cluster.fail({ zone: "a" });
  await cluster.clock.advance(400_000);

  const alive = (await cluster.list(Pod)).filter(({ metadata }) => !metadata.deletionTimestamp);
  assert.equal(alive.length, 4);
  assert(alive.every(({ spec }) => spec.nodeName === "node-2" || spec.nodeName === "node-4"));
  recover();
  await cluster.settle();
  assert.equal((await cluster.list(Pod)).length, 4);
});
