import assert from "node:assert/strict";
import { after, test } from "node:test";
import { systemClock } from "#lib/async/clock.ts";
import { silentLog } from "#lib/process/log.ts";
import { startEtcd } from "#testing/peers/etcd.ts";
import { bytes, collect, keysOf, put, text } from "../store.suite.ts";
import { type Store, StoreTimeoutError, StoreUnavailableError } from "../store.ts";
import { openEtcdStore } from "./etcd-store.ts";

const etcd = await startEtcd({ members: 3 });
after(() => etcd[Symbol.asyncDispose]());
let stores = 0;
const newPrefix = (): string => `/test-${stores++}`;
const open = (theirs: string): Promise<Store> =>
  openEtcdStore({ endpoints: etcd.endpoints, clock: systemClock, log: silentLog, keys: { ours: "", theirs } });

const isWithoutAnswer = (error: unknown): boolean =>
  error instanceof StoreUnavailableError || error instanceof StoreTimeoutError;

/** As a client does: a write without a clear answer is looked up, and made if it is not there. */
async function insist(store: Store, key: string): Promise<void> {
  for (;;) {
    try {
      await store.commit([{ key, value: bytes(key), expected: 0 }]);
      return;
    } catch (error) {
      assert(isWithoutAnswer(error), String(error));
    }
  }
}

test("writes, watches and reads go on when the member in use is killed, and each change comes once", async () => {
  await using store = await open(newPrefix());
  const seen = collect(store, "/", store.revision);
  const keys = Array.from({ length: 30 }, (_, n) => `/k/${String(n).padStart(2, "0")}`);

  for (const [n, key] of keys.entries()) {
    // All members in turn, so one of them is the one in use, and one is the leader.
    if (n % 10 === 2) await etcd.kill(Math.floor(n / 10));
    await insist(store, key);
    if (n % 10 === 7) {
      etcd.start(Math.floor(n / 10));
      await etcd.ready();
    }
  }

  await seen.upTo(store.revision);
  assert.deepEqual(
    seen.events.map(({ key }) => key),
    keys,
  );
  await store.catchUp();
  assert.deepEqual(await keysOf(store, "/k/"), keys);
});

test("without a majority writes are refused and reads go on; with one, everything resumes by itself", async () => {
  await using store = await open(newPrefix());
  await using other = await open(newPrefix());
  await put(store, "/a", "1");
  const seen = collect(store, "/", store.revision);
  await Promise.all([etcd.kill(0), etcd.kill(1)]);

  // A member that has not missed its leader yet takes the request and lets it time out.
  await Promise.all([
    assert.rejects(put(store, "/a", "2"), isWithoutAnswer),
    assert.rejects(other.catchUp() ?? Promise.resolve(), isWithoutAnswer),
  ]);
  assert.equal(text((await store.get("/a"))?.value), "1");

  etcd.start(0);
  etcd.start(1);
  await etcd.ready();
  await insist(store, "/b");
  await store.catchUp();
  assert.equal(text((await store.get("/b"))?.value), "/b");
  await seen.upTo(store.revision);
});
