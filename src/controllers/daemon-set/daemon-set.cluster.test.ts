import assert from "node:assert/strict";
import { test } from "node:test";
import { ControllerRevision } from "#api/apps/controller-revision.ts";
import { DaemonSet } from "#api/apps/daemon-set.ts";
import { Node } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import { type InputOf } from "#api/resource.ts";
import { startCluster, type TestCluster } from "#testing/start-cluster.ts";

const metadata = { name: "agent", namespace: "default" };
const labels = { app: "agent" };
const setOf = (
  image: string,
  spec: Partial<InputOf<DaemonSet>["spec"]> = {},
  pod: object = {},
): InputOf<DaemonSet> => ({
  metadata,
  spec: {
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers: [{ name: "agent", image }], ...pod } },
    ...spec,
  },
});

const start = (nodes = 4): Promise<TestCluster> =>
  startCluster({ nodes, simulation: { labels: (index) => ({ zone: index < 2 ? "a" : "b" }) } });
const placesOf = async (cluster: TestCluster): Promise<string[]> =>
  (await cluster.list(Pod)).map(({ spec }) => `${spec.nodeName} ${spec.containers[0]?.image}`).toSorted();
const statusOf = async (cluster: TestCluster) => (await cluster.client.get(DaemonSet, metadata)).status;

test("a DaemonSet runs one pod on each node, also on new and on cordoned ones", async () => {
  await using cluster = await start(3);
  await cluster.settle();
  await cluster.client.patch(Node, { name: "node-2" }, { type: "merge", body: { spec: { unschedulable: true } } });
  await cluster.apply(DaemonSet, setOf("agent:1"));
  await cluster.settle();

  assert.deepEqual(await placesOf(cluster), ["node-1 agent:1", "node-2 agent:1", "node-3 agent:1"]);
  const { observedGeneration: _, ...counts } = await statusOf(cluster);
  assert.deepEqual(counts, {
    currentNumberScheduled: 3,
    numberMisscheduled: 0,
    desiredNumberScheduled: 3,
    numberReady: 3,
    updatedNumberScheduled: 3,
    numberAvailable: 3,
  });
  // Upstream's clients find the revision of a pod by this label, which is another one than that of StatefulSets.
  const hash = (await cluster.list(Pod))[0]?.metadata.labels?.["controller-revision-hash"];
  const [revision] = await cluster.list(ControllerRevision);
  assert(hash);
  assert.deepEqual(revision?.metadata.labels, { ...labels, "controller-revision-hash": hash });
  const { template } = (revision.data as { spec: { template: { spec: object } } }).spec;
  assert.deepEqual(Object.keys(template), ["$patch", "metadata", "spec"]);
  assert.deepEqual(Object.keys(template.spec), Object.keys(template.spec).toSorted());
});

test("a DaemonSet follows labels and taints of nodes", async () => {
  await using cluster = await start();
  await cluster.apply(DaemonSet, setOf("agent:1", {}, { nodeSelector: { zone: "a" } }));
  await cluster.settle();
  const first = await placesOf(cluster);

  await cluster.client.patch(
    Node,
    { name: "node-1" },
    { type: "merge", body: { metadata: { labels: { zone: "b" } } } },
  );
  await cluster.client.patch(
    Node,
    { name: "node-3" },
    { type: "merge", body: { metadata: { labels: { zone: "a" } } } },
  );
  await cluster.settle();
  const moved = await placesOf(cluster);
  const taints = [{ key: "gone", effect: "NoExecute" }];
  await cluster.client.patch(Node, { name: "node-2" }, { type: "merge", body: { spec: { taints } } });
  await cluster.settle();

  assert.deepEqual(first, ["node-1 agent:1", "node-2 agent:1"]);
  assert.deepEqual(moved, ["node-2 agent:1", "node-3 agent:1"]);
  assert.deepEqual(await placesOf(cluster), ["node-3 agent:1"]);
});

/** The fewest and the most pods of the set that were alive during the task. */
async function extremes(cluster: TestCluster, task: () => Promise<void>): Promise<[fewest: number, most: number]> {
  const ready = new Set<string>();
  const alive = new Set<string>();
  let [fewest, most] = [Infinity, 0];
  const stop = cluster.informers.of(Pod).subscribe(({ type, object: { metadata, status } }) => {
    const isGone = type === "delete" || metadata.deletionTimestamp !== undefined;
    if (isGone) alive.delete(metadata.uid);
    else alive.add(metadata.uid);
    if (!isGone && status.conditions?.some(({ type, status }) => type === "Ready" && status === "True"))
      ready.add(metadata.uid);
    else ready.delete(metadata.uid);
    most = Math.max(most, alive.size);
  });
  const count = cluster.informers.of(Pod).subscribe(() => {
    fewest = Math.min(fewest, ready.size);
  });
  fewest = ready.size;
  await task();
  stop();
  count();
  return [fewest, most];
}

const strategies = [
  { name: "replaces one pod after another", rollingUpdate: { maxUnavailable: 1 }, fewest: 3, most: 4 },
  { name: "replaces half of them at once", rollingUpdate: { maxUnavailable: "50%" }, fewest: 2, most: 4 },
  {
    name: "starts new pods before it ends old ones",
    rollingUpdate: { maxUnavailable: 0, maxSurge: 1 },
    fewest: 4,
    most: 5,
  },
];
for (const { name, rollingUpdate, fewest, most } of strategies) {
  test(`a rolling update ${name}`, async () => {
    await using cluster = await start();
    const updateStrategy = { type: "RollingUpdate", rollingUpdate };
    await cluster.apply(DaemonSet, setOf("agent:1", { updateStrategy }));
    await cluster.settle();

    const seen = await extremes(cluster, async () => {
      await cluster.apply(DaemonSet, setOf("agent:2", { updateStrategy }));
      await cluster.settle();
    });

    assert.deepEqual(
      await placesOf(cluster),
      [1, 2, 3, 4].map((node) => `node-${node} agent:2`),
    );
    assert.deepEqual(seen, [fewest, most]);
    assert.equal((await statusOf(cluster)).updatedNumberScheduled, 4);
  });
}

test("with OnDelete, only pods that are deleted are updated", async () => {
  await using cluster = await start(2);
  const updateStrategy = { type: "OnDelete" };
  await cluster.apply(DaemonSet, setOf("agent:1", { updateStrategy }));
  await cluster.settle();
  await cluster.apply(DaemonSet, setOf("agent:2", { updateStrategy }));
  await cluster.settle();
  const before = await placesOf(cluster);
  const pod = (await cluster.list(Pod)).find(({ spec }) => spec.nodeName === "node-1");
  await cluster.client.delete(Pod, { namespace: "default", name: pod?.metadata.name ?? "" });
  await cluster.settle();

  assert.deepEqual(before, ["node-1 agent:1", "node-2 agent:1"]);
  assert.deepEqual(await placesOf(cluster), ["node-1 agent:2", "node-2 agent:1"]);
});

test("a pod that fails is replaced, more slowly each time", async () => {
  await using cluster = await start(1);
  await cluster.apply(DaemonSet, setOf("agent:1"));
  await cluster.settle();
  const names = new Set<string>();
  cluster.informers.of(Pod).subscribe(({ object }) => names.add(object.metadata.name));
  const evict = async (): Promise<void> => {
    for (const pod of await cluster.list(Pod)) {
      if (pod.status.phase === "Failed" || pod.metadata.deletionTimestamp) continue;
      const status = { ...pod.status, phase: "Failed" as const, reason: "Evicted" };
      await cluster.client.updateStatus(Pod, { ...pod, status });
    }
  };

  await evict();
  await cluster.clock.advance(100);
  const first = names.size;
  await evict();
  await cluster.clock.advance(100);
  const second = names.size;
  await cluster.clock.advance(10_000);

  assert.deepEqual([first, second, names.size], [2, 2, 3]);
});

test("a set that takes over the pods of another goes on with their revision, and replaces none of them", async () => {
  await using cluster = await start(2);
  await cluster.apply(DaemonSet, setOf("agent:1"));
  await cluster.settle();
  const uids = async () => (await cluster.list(Pod)).map(({ metadata }) => metadata.uid);
  const before = await uids();

  await cluster.client.delete(DaemonSet, metadata, { propagationPolicy: "Orphan" });
  await cluster.settle();
  await cluster.apply(DaemonSet, setOf("agent:1"));
  await cluster.settle();

  const { collisionCount = 0, updatedNumberScheduled } = await statusOf(cluster);
  assert.deepEqual([collisionCount, updatedNumberScheduled], [0, 2]);
  assert.deepEqual(await uids(), before);
  assert.equal((await cluster.list(ControllerRevision)).length, 1);
});
