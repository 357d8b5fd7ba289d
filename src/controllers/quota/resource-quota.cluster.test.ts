import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigMap } from "#api/core/config-map.ts";
import { Namespace } from "#api/core/namespace.ts";
import { ResourceQuota } from "#api/core/resource-quota.ts";
import { startCluster, type TestCluster } from "#testing/start-cluster.ts";

const namespace = "shop";
const quotaRef = { namespace, name: "few" };
const mapNamed = (name: string) => ({ metadata: { name, namespace } });

/** A namespace with a quota for config maps; the one with the certificates exists already. */
async function limited(cluster: TestCluster, most: number): Promise<void> {
  await cluster.apply(Namespace, { metadata: { name: namespace } });
  await cluster.settle();
  await cluster.client.create(ResourceQuota, { metadata: quotaRef, spec: { hard: { configmaps: String(most) } } });
  await cluster.settle();
}

const usedIn = async ({ client }: TestCluster): Promise<string | undefined> =>
  (await client.get(ResourceQuota, quotaRef)).status.used?.configmaps;

test("200 concurrent creates take exactly what the quota allows, and deletions give it back", async () => {
  await using cluster = await startCluster();
  await limited(cluster, 51);

  const names = Array.from({ length: 200 }, (_, index) => `m-${index}`);
  const outcomes = await Promise.allSettled(names.map((name) => cluster.client.create(ConfigMap, mapNamed(name))));
  const refused = outcomes.filter(({ status }) => status === "rejected");
  const made = await cluster.list(ConfigMap, namespace);

  assert.deepEqual([refused.length, made.length, await usedIn(cluster)], [150, 51, "51"]);
  const [first] = refused as PromiseRejectedResult[];
  assert.match(
    first?.reason.message,
    /^configmaps "m-\d+" is forbidden: exceeded quota: few, requested: configmaps=1, used: configmaps=51, limited: configmaps=51$/,
  );

  await Promise.all(made.slice(0, 20).map(({ metadata }) => cluster.client.delete(ConfigMap, metadata)));
  await cluster.settle();
  assert.equal(await usedIn(cluster), String((await cluster.list(ConfigMap, namespace)).length));
});
