import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigMap } from "#api/core/config-map.ts";
import { type Client } from "#client/client.ts";
import { startCluster } from "#testing/start-cluster.ts";
import { ReferencedObjects } from "./referenced-objects.ts";

test("objects that a pod refers to are watched while it needs them, up to a limit", async () => {
  await using cluster = await startCluster();
  const { client, clock } = cluster;
  await client.create(ConfigMap, { metadata: { namespace: "default", name: "c" }, data: { a: "1" } });
  using objects = new ReferencedObjects({ client, clock, changed: () => {} });

  assert.equal((await objects.configMap("default", "c", "u"))?.data?.a, "1");
  const many = Array.from({ length: 1500 }, (_, at) => objects.configMap("default", `none-${at}`, "u"));
  const settled = await Promise.allSettled(many);

  const refused = settled.flatMap((one) => (one.status === "rejected" ? [String(one.reason)] : []));
  assert.equal(refused.length, 501);
  assert.match(refused[0] ?? "", /refers to more than 1000 config maps and secrets/);
  assert.equal((await objects.configMap("default", "c", "other"))?.data?.a, "1");
  objects.release("u");
  assert.equal(await objects.configMap("default", "none-1400", "u"), undefined);
});

test("an object that could not be read at first is watched once when it is requested again", async () => {
  await using cluster = await startCluster();
  const { clock } = cluster;
  await cluster.client.create(ConfigMap, { metadata: { namespace: "default", name: "c" }, data: { a: "1" } });
  let watches = 0;
  const client: Client = {
    ...cluster.client,
    watch(...args) {
      if (watches++ === 0) throw new Error("the server is unreachable");
      return cluster.client.watch(...args);
    },
  };
  using objects = new ReferencedObjects({ client, clock, changed: () => {} });
  await assert.rejects(objects.configMap("default", "c", "u"), /the server is unreachable/);

  const found = await objects.configMap("default", "c", "u");
  await clock.advance(5000);

  assert.equal(found?.data?.a, "1");
  assert.equal(watches, 2);
});
