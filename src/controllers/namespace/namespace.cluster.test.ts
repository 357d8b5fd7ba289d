import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigMap } from "#api/core/config-map.ts";
import { Namespace } from "#api/core/namespace.ts";
import { Pod } from "#api/core/pod.ts";
import { ServiceAccount } from "#api/core/service-account.ts";
import { type ApiObject } from "#api/resource.ts";
import { isForbidden, isNotFound } from "#api/status.ts";
import { startCluster } from "#testing/start-cluster.ts";
import { namespaceConditions } from "./namespace.ts";

test("deleting a namespace deletes all its content", async () => {
  await using cluster = await startCluster();
  await cluster.apply(Namespace, { metadata: { name: "shop" } });
  await cluster.settle();
  await cluster.client.create(ConfigMap, { metadata: { name: "a", namespace: "shop" } });
  await cluster.client.create(Pod, {
    metadata: { name: "p", namespace: "shop" },
    spec: { containers: [{ name: "c", image: "i" }] },
  });

  await cluster.client.delete(Namespace, { name: "shop" });
  await cluster.settle();

  await assert.rejects(cluster.client.get(Namespace, { name: "shop" }), isNotFound);
  const left = [ConfigMap, Pod, ServiceAccount].map(
    async (resource) => (await cluster.list<ApiObject>(resource, "shop")).length,
  );
  assert.deepEqual(await Promise.all(left), [0, 0, 0]);
});

test("a deleted namespace waits for its pods, then for finalizers, and reports it", async () => {
  await using cluster = await startCluster();
  await cluster.apply(Namespace, { metadata: { name: "shop" } });
  await cluster.settle();
  const spec = { containers: [{ name: "c", image: "i" }] };
  await cluster.client.create(Pod, { metadata: { name: "p", namespace: "shop", finalizers: ["test/pod"] }, spec });
  await cluster.client.create(ConfigMap, { metadata: { name: "m", namespace: "shop", finalizers: ["test/map"] } });
  const conditions = async () => {
    const { status } = await cluster.client.get(Namespace, { name: "shop" });
    const troubles = status.conditions?.filter((condition) => condition.status === "True") ?? [];
    return troubles.map(({ message }) => message);
  };
  const release = { type: "merge", body: { metadata: { finalizers: null } } } as const;

  await cluster.client.delete(Namespace, { name: "shop" });
  await cluster.clock.advance(1000);
  const first = await conditions();
  const isAlive = !(await cluster.client.get(ConfigMap, { namespace: "shop", name: "m" })).metadata.deletionTimestamp;
  const refused = cluster.client.create(ConfigMap, { metadata: { name: "n", namespace: "shop" } });
  await assert.rejects(refused, isForbidden);
  await cluster.client.patch(Pod, { namespace: "shop", name: "p" }, release);
  await cluster.clock.advance(1000);
  const second = await conditions();
  await cluster.client.patch(ConfigMap, { namespace: "shop", name: "m" }, release);
  await cluster.clock.advance(20_000);

  assert.deepEqual(first, [
    "Some resources are remaining: pods. has 1 resource instances",
    "Some content in the namespace has finalizers remaining: test/pod in 1 resource instances",
  ]);
  assert(isAlive);
  assert.deepEqual(second, [
    "Some resources are remaining: configmaps. has 1 resource instances",
    "Some content in the namespace has finalizers remaining: test/map in 1 resource instances",
  ]);
  await assert.rejects(cluster.client.get(Namespace, { name: "shop" }), isNotFound);
});

test("namespaceConditions() keeps the time of unchanged conditions", () => {
  const content = {
    remaining: new Map(),
    finalizers: new Map(),
    failures: [new Error("no")],
    undescribed: [],
    estimateSeconds: 0,
  };
  const first = namespaceConditions([], content, 0);

  const again = namespaceConditions(first, content, 60_000);
  const well = namespaceConditions(first, { ...content, failures: [] }, 60_000);

  assert.deepEqual(again, first);
  const failure = well.find(({ type }) => type === "NamespaceDeletionContentFailure");
  assert.deepEqual([failure?.status, failure?.lastTransitionTime], ["False", "1970-01-01T00:01:00Z"]);
  assert.equal(first[2]?.message, "Failed to delete all resource types, 1 remaining: no");
});

test("namespaceConditions() bounds what other servers say", () => {
  const failures = Array.from({ length: 100 }, (_, at) => new Error(`${at}${"x".repeat(1 << 20)}`));
  const remaining = new Map(Array.from({ length: 5000 }, (_, at) => [`${at}.y.example.com`, 1]));
  const undescribed = Array.from({ length: 5000 }, (_, at) => `y.example.com/v${at}`);

  const conditions = namespaceConditions(
    [],
    { remaining, finalizers: new Map(), failures, undescribed, estimateSeconds: 0 },
    0,
  );

  for (const { type, message = "" } of conditions) assert(message.length <= 32_768, type);
  assert.match(conditions[2]?.message ?? "", /^Failed to delete all resource types, 100 remaining: 0x/);
});
