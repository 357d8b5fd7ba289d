import assert from "node:assert/strict";
import { test } from "node:test";
import { CustomResourceDefinition } from "#api/apiextensions/custom-resource-definition.ts";
import { Deployment } from "#api/apps/deployment.ts";
import { Event } from "#api/core/event.ts";
import { Namespace } from "#api/core/namespace.ts";
import { isReady } from "#api/core/pod/pod-state.ts";
import { Pod } from "#api/core/pod.ts";
import { findCondition } from "#api/meta/condition.ts";
import { PodDisruptionBudget } from "#api/policy/pod-disruption-budget.ts";
import { type InputOf } from "#api/resource.ts";
import { StatusError } from "#api/status.ts";
import { nodeUser } from "#cluster/identities.ts";
import { ask } from "#testing/peers/ask.ts";
import { startCluster, type TestCluster } from "#testing/start-cluster.ts";

const namespace = "shop";
const labels = { app: "web" };
const ref = { namespace, name: "web" };

async function startShop(replicas: number, spec: InputOf<PodDisruptionBudget>["spec"]): Promise<TestCluster> {
  const cluster = await startCluster({ nodes: 2 });
  await cluster.apply(Namespace, { metadata: { name: namespace } });
  await cluster.settle();
  const template = { metadata: { labels }, spec: { containers: [{ name: "web", image: "web:1" }] } };
  await cluster.apply(Deployment, { metadata: ref, spec: { replicas, selector: { matchLabels: labels }, template } });
  await cluster.client.create(PodDisruptionBudget, {
    metadata: ref,
    spec: { selector: { matchLabels: labels }, ...spec },
  });
  await cluster.settle();
  return cluster;
}

const evict = ({ client }: TestCluster, name: string, more: object = {}): Promise<unknown> =>
  client.createSubresource(Pod, { namespace, name }, "eviction", {
    kind: "Eviction",
    apiVersion: "policy/v1",
    metadata: { namespace, name },
    ...more,
  });
const statusOf = async ({ client }: TestCluster) => (await client.get(PodDisruptionBudget, ref)).status;
const alive = ({ informers }: TestCluster): Pod[] =>
  informers
    .of(Pod)
    .list(namespace)
    .filter((pod) => !pod.metadata.deletionTimestamp && isReady(pod));

test("a drain of all pods at once never leaves fewer than the budget demands", async () => {
  await using cluster = await startShop(12, { minAvailable: "75%" });
  const { disruptionsAllowed, expectedPods, desiredHealthy } = await statusOf(cluster);
  assert.deepEqual([disruptionsAllowed, expectedPods, desiredHealthy], [3, 12, 9]);
  let fewest = 12;
  cluster.informers.of(Pod).subscribe(() => {
    fewest = Math.min(fewest, alive(cluster).length);
  });

  const before = new Set(alive(cluster).map(({ metadata }) => metadata.name));
  for (let round = 0; round < 10 && before.size > 0; round++) {
    const outcomes = await Promise.allSettled([...before].map((name) => evict(cluster, name)));
    for (const outcome of outcomes) {
      if (outcome.status === "fulfilled") continue;
      const { code, details } = outcome.reason as StatusError;
      assert.deepEqual([code, details?.causes?.[0]?.reason], [429, "DisruptionBudget"]);
    }
    await cluster.settle();
    const left = new Set(alive(cluster).map(({ metadata }) => metadata.name));
    for (const name of before) if (!left.has(name)) before.delete(name);
  }

  assert.equal(before.size, 0, "every pod was evicted in the end");
  assert.equal(fewest, 9);
  const status = await statusOf(cluster);
  assert.deepEqual([status.disruptionsAllowed, status.disruptedPods], [3, undefined]);
});

test("a dry run asks the budget and takes nothing from it", async () => {
  await using cluster = await startShop(2, { minAvailable: 1 });
  const [one, two] = alive(cluster);
  assert(one && two);
  const before = cluster.store.revision;
  await evict(cluster, one.metadata.name, { deleteOptions: { dryRun: ["All"] } });
  assert.equal(cluster.store.revision, before);
  await cluster.client.patch(PodDisruptionBudget, ref, { type: "merge", body: { spec: { minAvailable: 2 } } });
  await cluster.settle();
  await assert.rejects(evict(cluster, one.metadata.name, { deleteOptions: { dryRun: ["All"] } }), { code: 429 });
});

test("an evicted pod says why it is deleted, and the eviction of another version is refused", async () => {
  await using cluster = await startShop(3, { maxUnavailable: 1 });
  const [pod] = alive(cluster);
  assert(pod);
  const { name, uid } = pod.metadata;
  const seen: (string | undefined)[] = [];
  cluster.informers.of(Pod).subscribe(({ object: { metadata, status } }) => {
    if (metadata.uid === uid) seen.push(findCondition(status.conditions, "DisruptionTarget")?.reason);
  });
  await assert.rejects(evict(cluster, name, { deleteOptions: { preconditions: { uid: "other" } } }), {
    reason: "Conflict",
  });
  await cluster.clock.advance(121_000);
  await cluster.settle();
  await evict(cluster, name, { deleteOptions: { preconditions: { uid } } });
  assert(seen.includes("EvictionByEvictionAPI"));
});

test("an eviction that nobody carries out is forgotten after two minutes", async () => {
  await using cluster = await startShop(2, { minAvailable: 1 });
  const [pod] = alive(cluster);
  assert(pod);
  const { status, ...budget } = await cluster.client.get(PodDisruptionBudget, ref);
  const disruptedPods = { [pod.metadata.name]: new Date(cluster.clock.now()).toISOString().replace(/\.\d+/, "") };
  await cluster.client.updateStatus(PodDisruptionBudget, { ...budget, status: { ...status, disruptedPods } });
  const target = { type: "DisruptionTarget", status: "True" as const, reason: "EvictionByEvictionAPI" };
  const lastTransitionTime = Object.values(disruptedPods)[0] ?? "";
  const conditions = [{ ...target, lastTransitionTime }];
  await cluster.client.patch(
    Pod,
    pod,
    { type: "strategic", body: { status: { conditions } } },
    { subresource: "status" },
  );
  await cluster.clock.advance(10_000);
  assert.equal((await statusOf(cluster)).disruptionsAllowed, 0);

  await cluster.clock.advance(120_000);
  await cluster.settle();
  const after = await statusOf(cluster);
  assert.deepEqual([after.disruptionsAllowed, after.disruptedPods], [1, undefined]);
  const noted = findCondition((await cluster.client.get(Pod, pod.metadata)).status.conditions, target.type);
  assert.equal(noted?.status, "False");
  const events = await cluster.list(Event, namespace);
  assert(events.some(({ reason }) => reason === "NotDeleted"));
});

test("a budget that cannot be counted allows nothing and says why", async () => {
  await using cluster = await startShop(1, { maxUnavailable: 1 });
  const owner = { apiVersion: "apps/v1", kind: "DaemonSet", name: "d", uid: "u-1", controller: true };
  await cluster.client.create(Pod, {
    metadata: { name: "odd", namespace, labels, ownerReferences: [owner] },
    spec: { containers: [{ name: "c", image: "i" }] },
  });
  await cluster.until(
    async () => findCondition((await statusOf(cluster)).conditions, "DisruptionAllowed")?.reason === "SyncFailed",
  );
  const { disruptionsAllowed, conditions } = await statusOf(cluster);
  assert.deepEqual(
    [disruptionsAllowed, conditions?.[0]?.message],
    [0, "daemonsets.apps does not implement the scale subresource"],
  );
});

test("an eviction that is refused takes nothing from the budget", async () => {
  await using cluster = await startShop(2, { minAvailable: 1 });
  const [pod] = alive(cluster);
  assert(pod);
  const other = pod.spec.nodeName === "node-1" ? "node-2" : "node-1";
  const { revision } = cluster.store;
  await assert.rejects(evict({ ...cluster, client: cluster.clientFor(nodeUser(other)) }, pod.metadata.name), {
    message: /can only evict pods with spec.nodeName set to itself/,
  });
  assert.equal(cluster.store.revision, revision);
  await evict({ ...cluster, client: cluster.clientFor(nodeUser(pod.spec.nodeName ?? "")) }, pod.metadata.name);
});

test("a budget counts what a custom resource wants", async () => {
  await using cluster = await startShop(0, { maxUnavailable: 1 });
  const open = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  const openAPIV3Schema = { type: "object", properties: { spec: open, status: open } };
  const scale = { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" };
  const versions = [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema }, subresources: { scale } }];
  const group = "example.com";
  await cluster.client.create(CustomResourceDefinition, {
    metadata: { name: `herds.${group}` },
    spec: { group, scope: "Namespaced", names: { plural: "herds", kind: "Herd" }, versions },
  });
  await cluster.settle({ quietMs: 1000 });
  const herds = `/apis/${group}/v1/namespaces/${namespace}/herds`;
  const herd = await ask(cluster.api.server, `POST ${herds}`, { body: { metadata: ref, spec: { replicas: 5 } } });
  const { uid = "" } = herd.json.metadata as { uid?: string };
  const owner = { apiVersion: `${group}/v1`, kind: "Herd", name: ref.name, uid, controller: true };

  await cluster.client.create(Pod, {
    metadata: { name: "one", namespace, labels, ownerReferences: [owner] },
    spec: { containers: [{ name: "c", image: "i" }] },
  });
  await cluster.until(async () => (await statusOf(cluster)).currentHealthy === 1);

  const { expectedPods, desiredHealthy, disruptionsAllowed } = await statusOf(cluster);
  assert.deepEqual([expectedPods, desiredHealthy, disruptionsAllowed], [5, 4, 0]);
});
