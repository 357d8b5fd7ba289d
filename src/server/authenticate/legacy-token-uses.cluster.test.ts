import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigMap } from "#api/core/config-map.ts";
import { Secret } from "#api/core/secret.ts";
import { silentLog } from "#lib/process/log.ts";
import { startCluster } from "#testing/start-cluster.ts";

test("the day of a token's last use is a label of its Secret, written once a day", async () => {
  await using cluster = await startCluster({ controllers: false });
  const { client, clock } = cluster;
  const stop = new AbortController();
  const running = cluster.api.tokenUses.run({ client, clock, log: silentLog }, stop.signal).catch(() => undefined);
  const metadata = { namespace: "default", name: "t" };
  await cluster.client.create(Secret, { metadata });
  const use = async () => {
    const secret = await cluster.client.get(Secret, metadata);
    for (let again = 0; again < 3; again++) cluster.api.tokenUses.note(secret, cluster.clock.now());
    await cluster.settle();
    return (await cluster.client.get(Secret, metadata)).metadata;
  };

  const first = await use();
  const second = await use();
  await cluster.clock.advance(86_400_000);
  const third = await use();

  assert.deepEqual(first.labels, { "kubernetes.io/legacy-token-last-used": "2026-01-01" });
  assert.equal(second.resourceVersion, first.resourceVersion);
  assert.deepEqual(third.labels, { "kubernetes.io/legacy-token-last-used": "2026-01-02" });
  const name = "kube-apiserver-legacy-service-account-token-tracking";
  const { data } = await cluster.client.get(ConfigMap, { namespace: "kube-system", name });
  stop.abort();
  await running;
  assert.deepEqual(data, { since: "2026-01-01" });
});
