import assert from "node:assert/strict";
import { test } from "node:test";
import { Namespace } from "#api/core/namespace.ts";
import { isConflict } from "#api/status.ts";
import { startCluster } from "#testing/start-cluster.ts";
import { writeStatusIfChanged } from "./write-status.ts";

const { signal } = new AbortController();
const told = { type: "Told", status: "True" };
const shop = { metadata: { name: "shop" } };

test("writeStatusIfChanged() writes only a changed status", async () => {
  await using cluster = await startCluster({ controllers: false });
  const object = await cluster.client.create(Namespace, shop);

  const same = await writeStatusIfChanged(
    cluster,
    { resource: Namespace, object, status: { ...object.status } },
    signal,
  );
  const status = { ...object.status, conditions: [told] };
  const changed = await writeStatusIfChanged(cluster, { resource: Namespace, object, status }, signal);

  assert.equal(same, object);
  assert(changed);
  assert.notEqual(changed.metadata.resourceVersion, object.metadata.resourceVersion);
  assert.equal((await cluster.client.get(Namespace, object)).status.conditions?.[0]?.type, "Told");
});

test("writeStatusIfChanged() does not overwrite a change that somebody else has made since", async () => {
  await using cluster = await startCluster({ controllers: false });
  const object = await cluster.client.create(Namespace, shop);
  await cluster.client.patch(Namespace, object, { type: "merge", body: { metadata: { labels: { a: "b" } } } });
  const status = { ...object.status, conditions: [told] };

  await assert.rejects(writeStatusIfChanged(cluster, { resource: Namespace, object, status }, signal), isConflict);
});

test("writeStatusIfChanged() ignores an object that is gone", async () => {
  await using cluster = await startCluster({ controllers: false });
  const object = await cluster.client.create(Namespace, shop);
  const gone = { ...object, metadata: { ...object.metadata, name: "gone" } };
  const status = { ...object.status, conditions: [told] };

  assert.equal(await writeStatusIfChanged(cluster, { resource: Namespace, object: gone, status }, signal), undefined);
});
