import assert from "node:assert/strict";
import { test } from "node:test";
import { Pod } from "orlop/api/core/pod.ts";
import { startCluster } from "orlop/testing";
import { name, seed } from "./web.ts";

test("a container that crashes is restarted ever more slowly, and recovers", async () => {
  let isBroken = true;
  const ending = () => (isBroken ? { afterMs: 1000, exitCode: 1 } : undefined);
  await using cluster = await startCluster({ nodes: 1, seed, simulation: { hooks: { ending } } });
  await cluster.apply(Pod, { metadata: name, spec: { containers: [{ name: "web", image: "web:1" }] } });
  const status = async () => (await cluster.client.get(Pod, name)).status.containerStatuses?.[0];

  await cluster.until(async () => (await status())?.state.waiting?.reason === "CrashLoopBackOff");
  await cluster.clock.advance(90_000);
  assert.equal((await status())?.restartCount, 4);
  assert((await cluster.events("pod/web")).some(({ reason }) => reason === "BackOff"));
  isBroken = false;
  await cluster.until(async () => (await status())?.ready === true);

  assert.equal((await status())?.lastState.terminated?.exitCode, 1);
});
