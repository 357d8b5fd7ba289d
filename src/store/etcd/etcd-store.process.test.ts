import assert from "node:assert/strict";
import { after, suite, test } from "node:test";
import { systemClock } from "#lib/async/clock.ts";
import { silentLog } from "#lib/process/log.ts";
import { startEtcd } from "#testing/peers/etcd.ts";
import { bytes, collect, commit, keysOf, put, storeSuite } from "../store.suite.ts";
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
