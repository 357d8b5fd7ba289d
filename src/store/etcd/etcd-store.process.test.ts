import assert from "node:assert/strict";
import { after, suite, test } from "node:test";
import { systemClock } from "#lib/async/clock.ts";
import { silentLog } from "#lib/process/log.ts";
import { startEtcd } from "#testing/peers/etcd.ts";
import { bytes, collect, commit, keysOf, put, storeSuite, text } from "../store.suite.ts";
import { CompactedError, type ListResult } from "../store.ts";
import { range } from "./calls.ts";
import { compactOnce } from "./compactor.ts";
import { EtcdClient } from "./etcd-client.ts";
import { openEtcdStore } from "./etcd-store.ts";

const etcd = await startEtcd({ maxRequestBytes: 8 << 20 });
after(() => etcd[Symbol.asyncDispose]());

const open = (theirs: string) =>
  openEtcdStore({ endpoints: etcd.endpoints, clock: systemClock, log: silentLog, keys: { ours: "", theirs } });
let stores = 0;
const newPrefix = (): string => `/test-${stores++}`;

storeSuite("EtcdStore", () => open(newPrefix()), { hasOwnTime: true });

suite("the time to live of a key in etcd", () => {
  test("a key is deleted when its time is over, unless it was written again without one", async () => {
    await using store = await open(newPrefix());
    const seen = collect(store, "/", store.revision);
    for (const key of ["/short", "/kept"]) await commit(store, [{ key, value: bytes("1"), ttlSeconds: 1 }]);
    await put(store, "/kept", "2");

    await seen.upTo(store.revision + 1);

    assert.deepEqual(await keysOf(store, "/"), ["/kept"]);
    assert.equal(seen.events.at(-1)?.key, "/short");
    assert.equal(seen.events.at(-1)?.value, undefined);
  });
});

test("a list of the past that a new store does not have is read from etcd, until it is compacted", async () => {
  const prefix = newPrefix();
  await using first = await open(prefix);
  for (let n = 0; n < 9; n++) await put(first, `/k/${n}`, "old");
  const { revision } = first;
  await put(first, "/k/3", "new");
  await commit(first, [{ key: "/k/4", value: undefined }]);

  await using second = await open(prefix);
  const page = await second.list("/k/", { revision, limit: 4 });
  const rest = await second.list("/k/", { revision, after: "/k/3" });

  const known = await first.list("/k/", { revision, limit: 4 });
  const plain = ({ entries }: ListResult) => entries.map((entry) => ({ ...entry, value: text(entry.value) }));
  assert.deepEqual(plain(page), plain(known));
  assert.deepEqual([page.remaining, page.revision], [5, revision]);
  assert.deepEqual(
    rest.entries.map(({ key }) => key),
    ["/k/4", "/k/5", "/k/6", "/k/7", "/k/8"],
  );
  await first.compact(first.revision);
  await assert.rejects(second.list("/k/", { revision }), CompactedError);
});

test("of several servers, the one that finds the key as it left it compacts", async () => {
  using client = new EtcdClient({ endpoints: etcd.endpoints, clock: systemClock });
  await using store = await open(newPrefix());
  const start = { version: 0, revision: 0 };

  const mine = await compactOnce(client, await compactOnce(client, start));
  const theirs = await compactOnce(client, start);
  await put(store, "/a", "1");
  const again = await compactOnce(client, mine);

  assert.equal(theirs.version, mine.version, "they take note");
  assert.equal(again.version, mine.version + 1);
  const compacted = client.read(range, { key: "/", revision: mine.revision - 1 });
  await assert.rejects(compacted, /compacted/);
  await client.read(range, { key: "/", revision: mine.revision });
});
