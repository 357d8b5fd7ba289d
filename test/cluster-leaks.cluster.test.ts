import assert from "node:assert/strict";
import { test } from "node:test";
import { Deployment } from "#api/apps/deployment.ts";
import { Pod } from "#api/core/pod.ts";
import { collectGarbage } from "#lib/process/collect-garbage.ts";
import { startCluster } from "#testing/start-cluster.ts";

const labels = { app: "web" };
const template = { metadata: { labels }, spec: { containers: [{ name: "web", image: "web:1" }] } };

/** A cluster that does something. Returns what must not outlive it. */
async function useCluster(seed: number): Promise<readonly WeakRef<object>[]> {
  await using cluster = await startCluster({ nodes: 2, seed });
  await cluster.apply(Deployment, {
    metadata: { namespace: "default", name: "web" },
    spec: { replicas: 3, selector: { matchLabels: labels }, template },
  });
  await cluster.settle();
  const pods = await cluster.list(Pod);
  assert.equal(pods.length, 3);
  return [cluster.store, cluster.api, cluster.informers, ...cluster.nodes, ...pods].map((part) => new WeakRef(part));
}

/** What keeps the process alive, by type: sockets, timers, threads, requests. */
function held(): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const type of process.getActiveResourcesInfo()) counts[type] = (counts[type] ?? 0) + 1;
  return counts;
}

const alive = (parts: readonly WeakRef<object>[]): number => parts.filter((part) => part.deref() !== undefined).length;

test("clusters leave no handle, no timer and no object behind, one after another and at once", async () => {
  await useCluster(1);
  const before = held();

  const parts: WeakRef<object>[] = [];
  for (let seed = 2; seed < 6; seed++) parts.push(...(await useCluster(seed)));
  parts.push(...(await Promise.all(Array.from({ length: 10 }, (_, index) => useCluster(10 + index)))).flat());
  await new Promise((resolve) => setTimeout(resolve, 20));
  // The second collection takes what finalizers of the first one have released.
  await collectGarbage();
  await collectGarbage();

  assert.deepEqual(held(), before);
  // What was used last may still be in a register or in a cache of one entry.
  assert(alive(parts) <= 8, `${alive(parts)} of ${parts.length} parts are still there`);
});
