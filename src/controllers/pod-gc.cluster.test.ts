import assert from "node:assert/strict";
import { test } from "node:test";
import { Pod } from "#api/core/pod.ts";
import { type InputOf } from "#api/resource.ts";
import { build } from "#testing/build.ts";
import { startCluster } from "#testing/start-cluster.ts";
import { surplus } from "./pod-gc.ts";

const pod = (name: string, spec: InputOf<Pod>["spec"] = {}, status: InputOf<Pod>["status"] = {}) =>
  build(Pod, {
    metadata: { name, namespace: "default", creationTimestamp: "2026-01-01T07:00:00Z" },
    spec: { containers: [{ name: "c", image: "i" }], ...spec },
    status,
  });

const podOn = (name: string, nodeName: string) => ({
  metadata: { name, namespace: "default" },
  spec: { nodeName, containers: [{ name: "c", image: "i" }] },
});

test("surplus() takes evicted pods first, then the oldest", () => {
  const old = pod("a", {}, { phase: "Succeeded" });
  const evicted = pod("b", {}, { phase: "Failed", reason: "Evicted" });
  const other = pod("c", {}, { phase: "Failed" });

  assert.deepEqual(surplus([other, old, evicted], 1), [evicted, old]);
  assert.deepEqual(surplus([other], 1), []);
});

test("pods of a deleted node are deleted after a delay", async () => {
  await using cluster = await startCluster();
  await cluster.settle();
  await cluster.client.create(Pod, podOn("p", "nowhere"));

  await cluster.clock.advance(30_000);
  const early = await cluster.list(Pod);
  await cluster.clock.advance(20_000);

  assert.equal(early.length, 1);
  assert.deepEqual(await cluster.list(Pod), []);
});
