import assert from "node:assert/strict";
import { test } from "node:test";
import { ReplicaSet } from "#api/apps/replica-set.ts";
import { ConfigMap } from "#api/core/config-map.ts";
import { Namespace } from "#api/core/namespace.ts";
import { Pod } from "#api/core/pod.ts";
import { type OwnerReference } from "#api/meta/object-meta.ts";
import { type ApiObject } from "#api/resource.ts";
import { silentLog } from "#lib/process/log.ts";
import { startCluster, type TestCluster } from "#testing/start-cluster.ts";

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

/** a owns b, and b owns c. */
async function startFamily(): Promise<TestCluster> {
  const cluster = await startCluster();
  await cluster.settle();
  const a = await cluster.client.create(ConfigMap, map("a"));
  const b = await cluster.client.create(ConfigMap, map("b", [ownedBy(a)]));
  await cluster.client.create(ConfigMap, map("c", [ownedBy(b)]));
  await cluster.settle();
  return cluster;
}

test("dependents are deleted after their owner", async () => {
  await using cluster = await startFamily();
  const before = await names(cluster);

  await cluster.client.delete(ConfigMap, place("a"), { propagationPolicy: "Background" });
  await cluster.settle();

  assert.deepEqual([before, await names(cluster)], [["a", "b", "c"], []]);
});

test("foreground deletion deletes dependents before their owner", async () => {
  await using cluster = await startFamily();
  const gone: (string | undefined)[] = [];
  cluster.informers.of(ConfigMap).subscribe(({ type, object }) => {
    if (type === "delete") gone.push(object.metadata.name);
  });

  await cluster.client.delete(ConfigMap, place("a"), { propagationPolicy: "Foreground" });
  await cluster.settle();

  assert.deepEqual(gone, ["c", "b", "a"]);
});

test("foreground deletion does not wait for dependents that do not block it", async () => {
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

test("an object of another namespace that repeats a uid neither blocks a deletion nor loses its owners", async () => {
  await using cluster = await startFamily();
  await cluster.apply(Namespace, { metadata: { name: "evil" } });
  const a = await cluster.client.get(ConfigMap, place("a"));
  const own = await cluster.client.create(ConfigMap, { metadata: { name: "own", namespace: "evil" } });
  const { metadata } = map("block", [ownedBy(a), ownedBy(own)], ["test/hold"]);
  await cluster.client.create(ConfigMap, { metadata: { ...metadata, namespace: "evil" } });
  await cluster.client.create(ConfigMap, map("d", [{ ...ownedBy(a), name: "b" }], ["test/hold"]));

  await cluster.client.delete(ConfigMap, place("a"), { propagationPolicy: "Foreground" });
  await cluster.settle();

  const block = await cluster.client.get(ConfigMap, { namespace: "evil", name: "block" });
  assert.deepEqual(await names(cluster), ["d"]);
  assert.deepEqual(
    block.metadata.ownerReferences?.map(({ name }) => name),
    ["own"],
  );
});

test("an orphaned object stays after its owner is deleted", async () => {
  await using cluster = await startFamily();

  await cluster.client.delete(ConfigMap, place("a"), { propagationPolicy: "Orphan" });
  await cluster.settle();

  const b = await cluster.client.get(ConfigMap, place("b"));
  assert.deepEqual(await names(cluster), ["b", "c"]);
  assert.equal(b.metadata.ownerReferences, undefined);
});

test("an object whose owner never existed, or is another object of that name, is deleted", async () => {
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

test("the pods of a deleted ReplicaSet are deleted, unless they are orphaned", async () => {
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

test("a failure is logged as one of the garbage collector, with the object that it concerns", async () => {
  const lines: unknown[] = [];
  const log = { ...silentLog, warn: (message: string, fields = {}) => void lines.push({ message, ...fields }) };
  await using cluster = await startCluster({ log: { ...log, with: () => log } });
  await cluster.settle();
  const owner = { apiVersion: "example.com/v1", kind: "Unknown", name: "x", uid: "1" };

  await cluster.client.create(ConfigMap, map("a", [owner]));
  await cluster.clock.advance(1_000);

  const [first] = lines as { message: string; object: string; error: Error }[];
  assert.equal(first?.message, "garbage collection failed");
  assert.equal(first.object, "/configmaps/default/a");
  assert.match(first.error.message, /owner Unknown x is of a kind that is not served/);
});
