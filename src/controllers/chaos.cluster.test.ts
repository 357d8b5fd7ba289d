import assert from "node:assert/strict";
import { test } from "node:test";
import { Deployment } from "#api/apps/deployment.ts";
import { ReplicaSet } from "#api/apps/replica-set.ts";
import { ConfigMap } from "#api/core/config-map.ts";
import { Namespace } from "#api/core/namespace.ts";
import { Pod } from "#api/core/pod.ts";
import { isNotFound } from "#api/status.ts";
import { chaosSeeds, startChaos } from "#testing/chaos/chaos.ts";

const labels = { app: "web" };
const metadata = { name: "web", namespace: "shop" };
const deployment = (replicas: number, image: string) => ({
  metadata,
  spec: {
    replicas,
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers: [{ name: "web", image }] } },
  },
});

for (const seed of chaosSeeds(5)) {
  test(`controllers converge within their limits despite crashes and conflicts (seed ${seed})`, async () => {
    await using cluster = await startChaos(seed);
    await cluster.apply(Namespace, { metadata: { name: "shop" } });
    await cluster.settle();
    let most = 0;
    const alive = new Set<string>();
    cluster.informers.of(Pod).subscribe(({ type, object: { metadata } }) => {
      if (type === "delete" || metadata.deletionTimestamp) alive.delete(metadata.uid);
      else alive.add(metadata.uid);
      most = Math.max(most, alive.size);
    });

    await cluster.apply(Deployment, deployment(20, "web:1"));
    await cluster.settle();
    const first = alive.size;
    await cluster.apply(Deployment, deployment(20, "web:2"));
    await cluster.settle();

    const pods = await cluster.list(Pod, "shop");
    const sets = await cluster.list(ReplicaSet, "shop");
    const { status } = await cluster.client.get(Deployment, metadata);
    assert.deepEqual([first, pods.length, status.availableReplicas], [20, 20, 20]);
    assert(pods.every(({ spec }) => spec.containers[0]?.image === "web:2"));
    assert.equal(sets.length, 2);
    assert(most <= 25, `${most} pods at the same time`);

    await cluster.client.create(ConfigMap, { metadata: { name: "m", namespace: "shop" } });
    await cluster.client.delete(Namespace, { name: "shop" });
    await cluster.settle();
    await assert.rejects(cluster.client.get(Namespace, { name: "shop" }), isNotFound);
    assert.deepEqual(await cluster.list(Pod, "shop"), []);
  });
}
