import assert from "node:assert/strict";
import { test } from "node:test";
import { Node } from "#api/core/node.ts";
import { heartbeats } from "#testing/pod-runner.ts";
import { startCluster } from "#testing/start-cluster.ts";

/** Lets nodes of a zone fail together, and tells after how many seconds each begins to lose its pods. */
async function evictions({ healthy, failing }: { healthy: number; failing: number }, seconds: number) {
  const names = Array.from({ length: healthy + failing }, (_, at) => `n${String(at).padStart(2, "0")}`);
  await using cluster = await startCluster({
    components: (deps) => [(stop) => heartbeats(deps, [...names, "other"], stop)],
  });
  const labels = { "topology.kubernetes.io/zone": "z" };
  const status = { conditions: [{ type: "Ready", status: "True" }] };
  await cluster.client.create(Node, { metadata: { name: "other" }, status });
  for (const name of names) await cluster.client.create(Node, { metadata: { name, labels }, status });
  await cluster.settle();
  const startMs = cluster.clock.now();
  const failed = { conditions: [{ type: "Ready", status: "False", lastTransitionTime: "2026-01-01T08:00:00Z" }] };
  for (const name of names.slice(0, failing)) {
    const current = await cluster.client.get(Node, { name });
    await cluster.client.updateStatus(Node, { ...current, status: failed });
  }

  await cluster.clock.advance(seconds * 1000);

  const taints = (await cluster.list(Node)).flatMap(({ spec }) => spec.taints ?? []);
  const times = taints.flatMap(({ effect, timeAdded = "" }) => (effect === "NoExecute" ? Date.parse(timeAdded) : []));
  return times.map((atMs) => Math.floor((atMs - startMs) / 1000)).toSorted((a, b) => a - b);
}

test("nodes of a zone lose their pods one after the other, every ten seconds", async () => {
  assert.deepEqual(await evictions({ healthy: 7, failing: 3 }, 60), [0, 10, 20]);
});

test("a small zone keeps its pods once most of its nodes fail", async () => {
  // The first node failed while the others were still well.
  assert.deepEqual(await evictions({ healthy: 2, failing: 4 }, 300), [0]);
});

test("a zone that fails as a whole loses its pods at the usual rate", async () => {
  assert.deepEqual(await evictions({ healthy: 0, failing: 3 }, 60), [0, 10, 20]);
});
