import assert from "node:assert/strict";
import { test } from "node:test";
import { Deployment } from "orlop/api/apps/deployment.ts";
import { Node } from "orlop/api/core/node.ts";
import { Pod } from "orlop/api/core/pod.ts";
import { PodDisruptionBudget } from "orlop/api/policy/pod-disruption-budget.ts";
import { startCluster } from "orlop/testing";
import { labels, name, seed, web } from "./web.ts";

test("a drain behind a budget evicts one pod at a time", async () => {
  await using cluster = await startCluster({ nodes: 2, seed });
  const { client } = cluster;
  await cluster.apply(PodDisruptionBudget, {
    metadata: name,
    spec: { minAvailable: 3, selector: { matchLabels: labels } },
  });
  await cluster.apply(Deployment, web(4));
  await cluster.settle();

  await client.patch(Node, { name: "node-1" }, { type: "merge", body: { spec: { unschedulable: true } } });
  const onNode = async () => (await cluster.list(Pod)).filter(({ spec }) => spec.nodeName === "node-1");
  let refusals = 0;
  for (let left = await onNode(); left.length > 0; left = await onNode()) {
    for (const { metadata } of left) {
      const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata };
      await client.createSubresource(Pod, metadata, "eviction", eviction).catch((error: Error) => {
        assert.match(error.message, /disruption budget/);
        refusals++;
      });
    }
    await cluster.settle();
  }

  assert(refusals > 0);
  assert.equal((await client.get(Deployment, name)).status.availableReplicas, 4);
});
