import assert from "node:assert/strict";
import { test } from "node:test";
import { Deployment } from "orlop/api/apps/deployment.ts";
import { startCluster } from "orlop/testing";
import { name, seed, web } from "./web.ts";

test("a rollout never has fewer pods than the strategy allows", async () => {
  await using cluster = await startCluster({ nodes: 3, seed, simulation: { delays: { pullMs: 2000, startMs: 500 } } });
  await cluster.apply(Deployment, web(4));
  await cluster.settle();

  let fewest = 4;
  await cluster.apply(Deployment, web(4, {}, "web:2"));
  await cluster.until(async () => {
    const { status } = await cluster.client.get(Deployment, name);
    fewest = Math.min(fewest, status.availableReplicas ?? 0);
    return status.updatedReplicas === 4 && status.availableReplicas === 4 && status.replicas === 4;
  });

  assert.equal(fewest, 3);
});

test("a rollout to an image that cannot be pulled keeps the old pods", async () => {
  const pullImage = (image: string) => {
    if (image === "web:broken") throw new Error("not found");
  };
  await using cluster = await startCluster({ nodes: 1, seed, simulation: { hooks: { pullImage } } });
  await cluster.apply(Deployment, web(3));
  await cluster.settle();

  await cluster.apply(Deployment, web(3, {}, "web:broken"));
  await cluster.clock.advance(700_000);

  const { status } = await cluster.client.get(Deployment, name);
  assert.equal(status.availableReplicas, 3);
  assert.equal(status.conditions?.find(({ type }) => type === "Progressing")?.reason, "ProgressDeadlineExceeded");
});
