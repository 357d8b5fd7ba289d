import assert from "node:assert/strict";
import { test } from "node:test";
import { Deployment } from "orlop/api/apps/deployment.ts";
import { Pod } from "orlop/api/core/pod.ts";
import { ResourceQuota } from "orlop/api/core/resource-quota.ts";
import { startCluster } from "orlop/testing";
import { seed, web } from "./web.ts";

test("a quota stops a Deployment, and says so", async () => {
  await using cluster = await startCluster({ nodes: 1, seed });
  await cluster.apply(ResourceQuota, {
    metadata: { namespace: "default", name: "few" },
    spec: { hard: { pods: "2" } },
  });
  await cluster.settle();

  await cluster.apply(Deployment, web(3));
  await cluster.clock.advance(60_000);

  assert.equal((await cluster.list(Pod)).length, 2);
  assert.match(await cluster.why("deployment/web"), /quota/);
});
