import assert from "node:assert/strict";
import { test } from "node:test";
import { startCluster } from "./public.ts";

test("orlop/testing starts a cluster, on either clock", async () => {
  await using still = await startCluster({ nodes: 1 });
  await using live = await startCluster({ clock: "system" });

  const before = still.clock.now();
  await still.clock.advance(1000);

  assert.equal(still.clock.now(), before + 1000);
  assert.equal(still.nodes.length, 1);
  const started = live.clock.now();
  await live.clock.advance(5);
  assert(live.clock.now() > started);
});

test("orlop/testing says which version of Node it needs", async () => {
  const { versions } = process;
  Object.defineProperty(process, "versions", { value: { ...versions, node: "22.23.3" } });

  try {
    await assert.rejects(startCluster(), /needs Node 24 or later, and this is 22\.23\.3/);
  } finally {
    Object.defineProperty(process, "versions", { value: versions });
  }
});
