// Run with `NODE_OPTIONS=--experimental-vm-modules npx jest --testMatch '**/*.spec.mjs'`, because Orlop is an ES module.
import { Deployment } from "orlop/api/apps/deployment.ts";
import { Pod } from "orlop/api/core/pod.ts";
import { startCluster } from "orlop/testing";

const labels = { app: "web" };
const template = { metadata: { labels }, spec: { containers: [{ name: "web", image: "web:1" }] } };
let cluster;

// The first cluster of a process loads Orlop, which takes a slow machine longer than jest's five seconds.
beforeAll(async () => {
  cluster = await startCluster({ nodes: 3 });
}, 60_000);
afterAll(() => cluster[Symbol.asyncDispose]());

test("three replicas become ready", async () => {
  await cluster.apply(Deployment, {
    metadata: { namespace: "default", name: "web" },
    spec: { replicas: 3, selector: { matchLabels: labels }, template },
  });
  await cluster.settle();

  expect(await cluster.list(Pod)).toHaveLength(3);
});
