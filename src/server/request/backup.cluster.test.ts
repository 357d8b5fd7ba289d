import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigMap } from "#api/core/config-map.ts";
import { startCluster } from "#testing/start-cluster.ts";
import { type BackupPage } from "./backup.ts";

test("the pages of a backup add up to the state at one revision, whatever is written meanwhile", async () => {
  await using cluster = await startCluster({ controllers: false });
  const { client, store } = cluster;
  const create = (name: string, text: string) =>
    client.create(ConfigMap, { metadata: { namespace: "default", name }, data: { text } });
  for (let n = 0; n < 8; n++) await create(`large-${n}`, "x".repeat(200_000));
  const { entries, revision } = await store.list("/registry/");

  const keys: string[] = [];
  for (let query = "", pages = 1; ; pages++) {
    const { status, body } = await client.raw("GET", `/orlop/backup${query}`);
    assert.equal(status, 200);
    const page = JSON.parse(Buffer.from(body).toString()) as BackupPage;
    assert.equal(page.revision, revision);
    keys.push(...page.entries.map(({ key }) => key));
    await create(`meanwhile-${pages}`, "x");
    if (page.after === undefined) {
      assert(pages > 2, "large values make small pages");
      break;
    }
    query = `?revision=${page.revision}&after=${encodeURIComponent(page.after)}`;
  }

  assert.deepEqual(
    keys,
    entries.map(({ key }) => key),
  );
});

test("a backup is refused to users without the right, for a revision that is gone, and for nonsense", async () => {
  await using cluster = await startCluster({ controllers: false });
  const { client, store } = cluster;
  const user = cluster.clientFor({ name: "ann", groups: ["system:authenticated"] });
  const status = async (from: typeof client, query = "") => (await from.raw("GET", `/orlop/backup${query}`)).status;
  assert.equal(await status(user), 403);
  await store.compact(store.revision);

  assert.equal(await status(client, `?revision=${store.revision - 1}`), 410);
  assert.equal(await status(client, `?revision=${store.revision + 1}`), 400);
  for (const nonsense of ["-1", "0", "1e9", "99999999999999999", "x"]) {
    assert.equal(await status(client, `?revision=${nonsense}`), 400, nonsense);
  }
});
