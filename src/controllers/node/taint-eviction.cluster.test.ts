import assert from "node:assert/strict";
import { test } from "node:test";
import { Event } from "#api/core/event.ts";
import { Node, type Taint } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import { ServiceAccount } from "#api/core/service-account.ts";
import { findCondition } from "#api/meta/condition.ts";
import { runReconcilers } from "#runtime/run-reconciler.ts";
import { podRunner } from "#testing/pod-runner.ts";
import { startCluster, type TestCluster } from "#testing/start-cluster.ts";
import { taintEvictionController } from "./taint-eviction.ts";

const maintenance = { key: "example.com/maintenance", effect: "NoExecute" };
const tolerating = (tolerationSeconds: number) => ({
  key: maintenance.key,
  operator: "Exists" as const,
  effect: "NoExecute" as const,
  tolerationSeconds,
});

/** This controller alone, and a node with two pods: one that tolerates a taint for a minute, and one that does not. */
async function startTainted(): Promise<TestCluster> {
  const cluster = await startCluster({
    controllers: false,
    components: (deps) => [
      (stop) => runReconcilers([taintEvictionController], { ...deps, component: "taint-eviction-controller" }, stop),
      (stop) => runReconcilers([podRunner()], deps, stop),
    ],
  });
  const { client } = cluster;
  // Admission would wait for it on a clock that stands still: the controller that makes it does not run here.
  await client.create(ServiceAccount, { metadata: { name: "default", namespace: "default" } });
  await client.create(Node, { metadata: { name: "a" } });
  for (const [name, tolerations] of Object.entries({ patient: [tolerating(60)], other: [] })) {
    const spec = { nodeName: "a", containers: [{ name: "c", image: "i" }], tolerations };
    await client.create(Pod, { metadata: { name, namespace: "default" }, spec });
  }
  await cluster.settle();
  return cluster;
}

const taint = (cluster: TestCluster, taints: Taint[] | null) =>
  cluster.client.patch(Node, { name: "a" }, { type: "merge", body: { spec: { taints } } });
const names = async (cluster: TestCluster) => (await cluster.list(Pod)).map(({ metadata }) => metadata.name);

test("a NoExecute taint evicts pods that do not tolerate it at once, and others when their time is over", async () => {
  await using cluster = await startTainted();
  const conditions: string[] = [];
  cluster.informers.of(Pod).subscribe(({ object: { metadata, status } }) => {
    const target = findCondition(status.conditions, "DisruptionTarget");
    if (target && metadata.deletionTimestamp) conditions.push(`${metadata.name} ${target.reason}`);
  });
  const before = await names(cluster);

  await taint(cluster, [maintenance]);
  await cluster.clock.advance(5_000);
  const early = await names(cluster);
  await cluster.clock.advance(60_000);

  assert.deepEqual([before, early, await names(cluster)], [["other", "patient"], ["patient"], []]);
  assert.deepEqual([...new Set(conditions)], ["other DeletionByTaintManager", "patient DeletionByTaintManager"]);
});

test("a pod stays if the taint goes before its time is over, and its events say so", async () => {
  await using cluster = await startTainted();
  await taint(cluster, [maintenance]);
  await cluster.clock.advance(30_000);

  await taint(cluster, null);
  await cluster.clock.advance(120_000);

  const events = await cluster.list(Event, "default");
  assert.deepEqual(await names(cluster), ["patient"]);
  assert.deepEqual(events.map(({ message, source }) => `${source?.component}: ${message}`).toSorted(), [
    "taint-eviction-controller: Cancelling deletion of Pod default/patient",
    "taint-eviction-controller: Marking for deletion Pod default/other",
  ]);
});
