import assert from "node:assert/strict";
import { test } from "node:test";
import { Namespace } from "#api/core/namespace.ts";
import { ServiceAccount } from "#api/core/service-account.ts";
import { startCluster } from "#testing/start-cluster.ts";

const account = { namespace: "shop", name: "default" };

test("every namespace has a default account, which is created again after deletion", async () => {
  await using cluster = await startCluster();
  await cluster.apply(Namespace, { metadata: { name: "shop" } });
  await cluster.settle();
  const first = await cluster.client.get(ServiceAccount, account);

  await cluster.client.delete(ServiceAccount, account);
  await cluster.settle();

  const second = await cluster.client.get(ServiceAccount, account);
  assert.notEqual(second.metadata.uid, first.metadata.uid);
});

test("a namespace that is being deleted gets no new account", async () => {
  await using cluster = await startCluster();
  await cluster.apply(Namespace, { metadata: { name: "shop" } });
  await cluster.settle();
  const body = { metadata: { finalizers: ["test/hold"] } };
  await cluster.client.patch(ServiceAccount, account, { type: "merge", body });

  await cluster.client.delete(Namespace, { name: "shop" });
  await cluster.client.patch(ServiceAccount, account, { type: "merge", body: { metadata: { finalizers: null } } });
  await cluster.settle();

  assert.deepEqual(await cluster.list(ServiceAccount, "shop"), []);
});
