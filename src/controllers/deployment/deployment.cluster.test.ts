import assert from "node:assert/strict";
import { test } from "node:test";
import { Deployment } from "#api/apps/deployment.ts";
import { ReplicaSet } from "#api/apps/replica-set.ts";
import { Pod } from "#api/core/pod.ts";
import { deploymentOf, metadata, startWithNode } from "#testing/one-node.ts";

const images = (pods: readonly Pod[]) => [...new Set(pods.map(({ spec }) => spec.containers[0]?.image))];
test("a Deployment rolls out, updates and rolls back", async () => {
  await using cluster = await startWithNode();
  await cluster.apply(Deployment, deploymentOf(4, "web:1"));
  await cluster.settle();
  const first = await cluster.client.get(Deployment, metadata);

  await cluster.apply(Deployment, deploymentOf(4, "web:2"));
  await cluster.settle();
  const second = await cluster.client.get(Deployment, metadata);
  const secondImages = images(await cluster.list(Pod));
  await cluster.apply(Deployment, deploymentOf(4, "web:1"));
  await cluster.settle();

  const third = await cluster.client.get(Deployment, metadata);
  const sets = await cluster.list(ReplicaSet);
  const revision = ({ metadata }: Deployment | ReplicaSet) =>
    metadata.annotations?.["deployment.kubernetes.io/revision"];
  assert.deepEqual([first, second, third].map(revision), ["1", "2", "3"]);
  assert.deepEqual(secondImages, ["web:2"]);
  assert.deepEqual(images(await cluster.list(Pod)), ["web:1"]);
  assert.equal(sets.length, 2);
  assert.deepEqual(sets.map(revision).toSorted(), ["2", "3"]);
  const { conditions = [], ...counts } = third.status;
  assert.deepEqual(counts, {
    observedGeneration: third.metadata.generation,
    replicas: 4,
    updatedReplicas: 4,
    readyReplicas: 4,
    availableReplicas: 4,
    terminatingReplicas: 0,
  });
  assert.deepEqual(conditions.map(({ type, status, reason }) => `${type} ${status} ${reason}`).toSorted(), [
    "Available True MinimumReplicasAvailable",
    "Progressing True NewReplicaSetAvailable",
  ]);
});

test("a rollout stays within its limits and stops at pods that do not become ready", async () => {
  await using cluster = await startWithNode({ isReady: ({ spec }) => spec.containers[0]?.image !== "web:bad" });
  await cluster.apply(Deployment, deploymentOf(8, "web:1"));
  await cluster.settle();
  let most = 0;
  const alive = new Set<string>();
  cluster.informers.of(Pod).subscribe((change) => {
    const { uid, deletionTimestamp } = change.object.metadata;
    if (change.type === "delete" || deletionTimestamp) alive.delete(uid);
    else alive.add(uid);
    most = Math.max(most, alive.size);
  });

  await cluster.apply(Deployment, deploymentOf(8, "web:bad", { progressDeadlineSeconds: 60 }));
  await cluster.settle();
  await cluster.clock.advance(120_000);

  const { status } = await cluster.client.get(Deployment, metadata);
  assert.equal(most, 10);
  assert.equal(status.availableReplicas, 6);
  assert.equal(status.updatedReplicas, 4);
  const progressing = status.conditions?.find(({ type }) => type === "Progressing");
  assert.equal(progressing?.reason, "ProgressDeadlineExceeded");
  assert.match(progressing?.message ?? "", /^ReplicaSet "web-\w+" has timed out progressing\.$/);
});

test("a Deployment recreates, and scales while it is paused", async () => {
  await using cluster = await startWithNode();
  const strategy = { type: "Recreate" } as const;
  await cluster.apply(Deployment, deploymentOf(2, "web:1", { strategy }));
  await cluster.settle();
  await cluster.apply(Deployment, deploymentOf(2, "web:2", { strategy }));
  await cluster.settle();
  const recreated = images(await cluster.list(Pod));

  await cluster.apply(Deployment, deploymentOf(5, "web:3", { strategy, paused: true }));
  await cluster.settle();

  const pods = await cluster.list(Pod);
  assert.deepEqual(recreated, ["web:2"]);
  assert.deepEqual([pods.length, images(pods)], [5, ["web:2"]]);
});
