import assert from "node:assert/strict";
import { test } from "node:test";
import { Pod } from "#api/core/pod.ts";
import { ServiceAccount } from "#api/core/service-account.ts";
import { isConflict } from "#api/status.ts";
import { startCluster, type TestCluster } from "#testing/start-cluster.ts";
import { defaultBinder } from "./default-binder.ts";

const spec = { containers: [{ name: "c", image: "i" }] };
const { signal } = new AbortController();

async function startWithAccount(): Promise<TestCluster> {
  const cluster = await startCluster({ controllers: false });
  await cluster.client.create(ServiceAccount, { metadata: { namespace: "default", name: "default" } });
  return cluster;
}

test("DefaultBinder binds the pod to the node", async () => {
  await using cluster = await startWithAccount();
  const pod = await cluster.client.create(Pod, { metadata: { namespace: "default", name: "p" }, spec });

  const isBound = await defaultBinder(cluster.client).bind?.(pod, "node-1", signal);

  assert.equal(isBound, true);
  assert.equal((await cluster.client.get(Pod, pod)).spec.nodeName, "node-1");
});

test("DefaultBinder does not bind another pod that has the same name by now", async () => {
  await using cluster = await startWithAccount();
  const metadata = { namespace: "default", name: "p" };
  const first = await cluster.client.create(Pod, { metadata, spec });
  await cluster.client.delete(Pod, first, { gracePeriodSeconds: 0 });
  await cluster.client.create(Pod, { metadata, spec });

  await assert.rejects(async () => defaultBinder(cluster.client).bind?.(first, "node-1", signal), isConflict);
  assert.equal((await cluster.client.get(Pod, metadata)).spec.nodeName, undefined);
});
