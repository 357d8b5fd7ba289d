import { Deployment } from "orlop/api/apps/deployment.ts";
import { Pod } from "orlop/api/core/pod.ts";
import { startCluster } from "orlop/testing";
import { expect, test } from "vitest";

const labels = { app: "web" };
const template = { metadata: { labels }, spec: { containers: [{ name: "web", image: "web:1" }] } };

// The first cluster of a process loads Orlop, which takes a slow machine longer than vitest's five seconds.
const timeout = 60_000;

test("three replicas become ready", { timeout }, async () => {
  await using cluster = await startCluster({ nodes: 3 });

  await cluster.apply(Deployment, {
    metadata: { namespace: "default", name: "web" },
    spec: { replicas: 3, selector: { matchLabels: labels }, template },
  });
  await cluster.settle();

  expect(await cluster.list(Pod)).toHaveLength(3);
});
