import assert from "node:assert/strict";
import { test } from "node:test";
import { Node } from "#api/core/node.ts";
import { nodeTtlAnnotation } from "#api/well-known.ts";
import { startCluster } from "#testing/start-cluster.ts";

test("kubelets of a large cluster may keep Secrets for longer, also those that were there before", async () => {
  await using cluster = await startCluster();
  const add = (from: number, to: number) =>
    Promise.all(
      Array.from({ length: to - from }, (_, at) =>
        cluster.client.create(Node, { metadata: { name: `n${from + at}` } }),
      ),
    );
  const times = async () =>
    new Set((await cluster.list(Node)).map(({ metadata }) => metadata.annotations?.[nodeTtlAnnotation]));
  await add(0, 100);
  await cluster.settle();
  const small = await times();

  await add(100, 101);
  await cluster.clock.advance(301_000);

  assert.deepEqual([...small], ["0"]);
  assert.deepEqual([...(await times())], ["15"]);
});
