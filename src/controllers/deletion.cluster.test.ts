import assert from "node:assert/strict";
import { test } from "node:test";
import { ReplicaSet } from "#api/apps/replica-set.ts";
import { ConfigMap } from "#api/core/config-map.ts";
import { Namespace } from "#api/core/namespace.ts";
import { Pod } from "#api/core/pod.ts";
import { ServiceAccount } from "#api/core/service-account.ts";
import { type OwnerReference } from "#api/meta/object-meta.ts";
import { type ApiObject } from "#api/resource.ts";
import { isForbidden, isNotFound } from "#api/status.ts";
import { build } from "#testing/build.ts";
import { startCluster, type TestCluster } from "#testing/start-cluster.ts";
import { type Owners, planCollection } from "./garbage-collector/plan-collection.ts";
import { namespaceConditions } from "./namespace.ts";

const map = (name: string, owners: readonly OwnerReference[] = [], finalizers: readonly string[] = []) => ({
  metadata: { name, namespace: "default", ownerReferences: [...owners], finalizers: [...finalizers] },
});
const ownedBy = ({ metadata }: ApiObject, block = true): OwnerReference => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  name: metadata.name ?? "",
  uid: metadata.uid ?? "",
  blockOwnerDeletion: block,
});
const place = (name: string) => ({ namespace: "default", name });
const names = async (cluster: TestCluster) =>
  (await cluster.list(ConfigMap, "default")).map(({ metadata }) => metadata.name).filter((name) => name?.length === 1);

/** a owns b, which owns c. */
async function startFamily(): Promise<TestCluster> {
  const cluster = await startCluster();
  await cluster.settle();
  const a = await cluster.client.create(ConfigMap, map("a"));
  const b = await cluster.client.create(ConfigMap, map("b", [ownedBy(a)]));
  await cluster.client.create(ConfigMap, map("c", [ownedBy(b)]));
  await cluster.settle();
  return cluster;
}

test("what an object owns goes after it", async () => {
  await using cluster = await startFamily();
  const before = await names(cluster);

  await cluster.client.delete(ConfigMap, place("a"), { propagationPolicy: "Background" });
  await cluster.settle();

  assert.deepEqual([before, await names(cluster)], [["a", "b", "c"], []]);
});

test("in the foreground, what an object owns goes before it", async () => {
  await using cluster = await startFamily();
  const gone: (string | undefined)[] = [];
  cluster.informers.of(ConfigMap).subscribe(({ type, object }) => {
    if (type === "delete") gone.push(object.metadata.name);
  });

  await cluster.client.delete(ConfigMap, place("a"), { propagationPolicy: "Foreground" });
  await cluster.settle();

  assert.deepEqual(gone, ["c", "b", "a"]);
});

test("in the foreground, an owner does not wait for what does not block it", async () => {
  await using cluster = await startCluster();
  await cluster.settle();
  const a = await cluster.client.create(ConfigMap, map("a"));
  await cluster.client.create(ConfigMap, map("b", [ownedBy(a, false)], ["test/hold"]));
  await cluster.settle();

  await cluster.client.delete(ConfigMap, place("a"), { propagationPolicy: "Foreground" });
  await cluster.settle();

  const [left] = await cluster
    .list(ConfigMap, "default")
    .then((all) => all.filter(({ metadata }) => metadata.name === "b"));
  assert.deepEqual(await names(cluster), ["b"]);
  assert(left?.metadata.deletionTimestamp);
});

test("an orphaned object stays without its owner", async () => {
  await using cluster = await startFamily();

  await cluster.client.delete(ConfigMap, place("a"), { propagationPolicy: "Orphan" });
  await cluster.settle();

  const b = await cluster.client.get(ConfigMap, place("b"));
  assert.deepEqual(await names(cluster), ["b", "c"]);
  assert.equal(b.metadata.ownerReferences, undefined);
});

test("an object whose owner never was, or was another of that name, goes", async () => {
  await using cluster = await startFamily();
  const a = await cluster.client.get(ConfigMap, place("a"));

  await cluster.client.create(ConfigMap, map("d", [{ ...ownedBy(a), name: "nobody", uid: "1" }]));
  await cluster.client.create(ConfigMap, map("e", [{ ...ownedBy(a), uid: "2" }]));
  await cluster.client.create(ConfigMap, map("f", [ownedBy(a), { ...ownedBy(a), name: "nobody", uid: "3" }]));
  await cluster.settle();

  const f = await cluster.client.get(ConfigMap, place("f"));
  assert.deepEqual(await names(cluster), ["a", "b", "c", "f"]);
  assert.deepEqual(
    f.metadata.ownerReferences?.map(({ uid }) => uid),
    [a.metadata.uid],
  );
});

test("the pods of a deleted ReplicaSet go, unless they are orphaned", async () => {
  await using cluster = await startCluster();
  await cluster.settle();
  const metadata = { name: "web", namespace: "default" };
  const labels = { app: "web" };
  const template = { metadata: { labels }, spec: { containers: [{ name: "web", image: "web" }] } };
  const set = { metadata, spec: { replicas: 3, selector: { matchLabels: labels }, template } };
  await cluster.apply(ReplicaSet, set);
  await cluster.settle();

  await cluster.client.delete(ReplicaSet, metadata, { propagationPolicy: "Orphan" });
  await cluster.settle();
  const orphans = await cluster.list(Pod);
  await cluster.apply(ReplicaSet, set);
  await cluster.settle();
  const adopted = await cluster.list(Pod);
  await cluster.client.delete(ReplicaSet, metadata);
  await cluster.settle();

  const uids = (pods: readonly Pod[]) => pods.map(({ metadata }) => metadata.uid);
  assert.equal(orphans.length, 3);
  assert.deepEqual(uids(adopted), uids(orphans));
  assert.equal((await cluster.list(Pod)).length, 0);
});

const reference = (uid: string): OwnerReference => ({ apiVersion: "v1", kind: "ConfigMap", name: uid, uid });
const object = (finalizers: readonly string[] = []) => build(ConfigMap, map("x", [], finalizers));
const deleting = build(ConfigMap, {
  metadata: { name: "y", deletionTimestamp: "2026-01-01T08:00:00Z", finalizers: ["foregroundDeletion"] },
});
const [one, two] = [reference("1"), reference("2")];
const plans: {
  name: string;
  owners: Partial<Owners>;
  finalizers?: string[];
  dependents?: ApiObject[];
  expected: ReturnType<typeof planCollection>;
}[] = [
  { name: "keeps what has an owner", owners: { solid: [one] }, expected: { type: "keep" } },
  {
    name: "unlinks owners that are gone or going",
    owners: { solid: [one], waiting: [two], dangling: [reference("3")] },
    expected: { type: "unlink", uids: ["3", "2"] },
  },
  {
    name: "deletes what has lost its last owner",
    owners: { dangling: [one] },
    expected: { type: "delete", policy: "Background", unblock: false },
  },
  {
    name: "honours the wish to orphan",
    owners: { dangling: [one] },
    finalizers: ["orphan"],
    expected: { type: "delete", policy: "Orphan", unblock: false },
  },
  {
    name: "deletes in the foreground what is waited for and has dependents",
    owners: { waiting: [one] },
    dependents: [object()],
    expected: { type: "delete", policy: "Foreground", unblock: false },
  },
  {
    name: "opens a circle of waiting",
    owners: { waiting: [one] },
    dependents: [deleting],
    expected: { type: "delete", policy: "Foreground", unblock: true },
  },
];
for (const { name, owners, finalizers, dependents = [], expected } of plans) {
  test(`planCollection() ${name}`, () => {
    const all = { solid: [], dangling: [], waiting: [], ...owners };

    assert.deepEqual(planCollection(object(finalizers), all, dependents), expected);
  });
}

test("a deleted namespace takes all with it", async () => {
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

test("a deleted namespace waits for its pods, then for finalizers, and says so", async () => {
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

test("namespaceConditions() keeps the time of what did not change", () => {
  const content = { remaining: new Map(), finalizers: new Map(), failures: [new Error("no")], estimateSeconds: 0 };
  const first = namespaceConditions([], content, 0);

  const again = namespaceConditions(first, content, 60_000);
  const well = namespaceConditions(first, { ...content, failures: [] }, 60_000);

  assert.deepEqual(again, first);
  const failure = well.find(({ type }) => type === "NamespaceDeletionContentFailure");
  assert.deepEqual([failure?.status, failure?.lastTransitionTime], ["False", "1970-01-01T00:01:00Z"]);
  assert.equal(first[2]?.message, "Failed to delete all resource types, 1 remaining: no");
});
