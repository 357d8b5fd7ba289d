import assert from "node:assert/strict";
import { test } from "node:test";
import { Deployment } from "orlop/api/apps/deployment.ts";
import { Pod } from "orlop/api/core/pod.ts";
import { startCluster } from "orlop/testing";

const labels = { app: "web" };
const template = { metadata: { labels }, spec: { containers: [{ name: "web", image: "nginx" }] } };

test("three replicas become ready, each on its own node", async () => {
  await using cluster = await startCluster({ nodes: 3 });

  await cluster.apply(Deployment, {
    metadata: { namespace: "default", name: "web" },
    spec: { replicas: 3, selector: { matchLabels: labels }, template },
  });
  await cluster.settle();

  const pods = await cluster.list(Pod);
  const nodes = pods.filter(({ status }) => status.phase === "Running").map(({ spec }) => spec.nodeName);
  assert.deepEqual(nodes.sort(), ["node-1", "node-2", "node-3"]);
});
