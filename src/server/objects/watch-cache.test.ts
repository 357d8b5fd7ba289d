import assert from "node:assert/strict";
import { test } from "node:test";
import { isExpired, StatusError } from "#api/status.ts";
import { nextTurn } from "#lib/async/turns.ts";
import { type Log, silentLog } from "#lib/process/log.ts";
import { type Change } from "#runtime/informer.ts";
import { openMemoryStore } from "#store/memory.ts";
import { type Store, type StoreWatcher } from "#store/store.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { Widget } from "#testing/widget.ts";
import { codecOf, toStoredBytes } from "./encode-once.ts";
import { select } from "./selection.ts";
import { WatchCache } from "./watch-cache.ts";
import { type CacheWatcher } from "./watch-feed.ts";

const clock = createVirtualClock();

/** A store that can lose its watches and stop answering lists. */
function unreliableStore() {
  const store = openMemoryStore({ clock });
  const watchers: StoreWatcher[] = [];
  let refusals = 0;
  const shaky: Store = {
    get revision() {
      return store.revision;
    },
    get compactedRevision() {
      return store.compactedRevision;
    },
    trouble: undefined,
    catchUp: () => store.catchUp(),
    get: (key, revision) => store.get(key, revision),
    async list(prefix, options) {
      if (refusals > 0) {
        refusals--;
        throw new Error("the store is away");
      }
      return await store.list(prefix, options);
    },
    commit: (changes) => store.commit(changes),
    changes: (prefix, page) => store.changes(prefix, page),
    watch(prefix, from, watcher) {
      watchers.push(watcher);
      return store.watch(prefix, from, watcher);
    },
    compact: (revision) => store.compact(revision),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
  const fail = (lists = 0): void => {
    refusals = lists;
    watchers.at(-1)?.failed(new Error("lost"));
  };
  return { store: shaky, fail };
}

function cacheOf(store: Store, log: Log = silentLog): WatchCache<Widget> {
  return new WatchCache(Widget, {
    store,
    clock,
    log,
    traceOf: () => undefined,
    takeWritten: () => undefined,
  });
}

const key = (name: string): string => `/registry/${Widget.storagePrefix}/default/${name}`;

async function put(store: Store, name: string, labels: Record<string, string> = {}): Promise<number> {
  const object = { metadata: { name, namespace: "default", labels } } as Widget;
  const value = (revision: number) => toStoredBytes(codecOf(Widget), object, revision);
  const result = await store.commit([{ key: key(name), value }]);
  assert(result.ok);
  return result.revision;
}
const remove = (store: Store, name: string) => store.commit([{ key: key(name), value: undefined }]);

function recorder(): CacheWatcher & { readonly seen: string[]; ended: unknown } {
  const seen: string[] = [];
  return {
    seen,
    ended: undefined,
    load: "idle",
    onIdle: (wake) => wake(),
    stateSent: (revision) => void seen.push(`STATE ${revision}`),
    batch({ events }) {
      for (const { type, encoded } of events) {
        const { name, resourceVersion, labels } = encoded.object.metadata;
        seen.push(`${type} ${name} ${labels?.color ?? "-"} at ${resourceVersion}`);
      }
    },
    bookmark: (revision) => void seen.push(`BOOKMARK ${revision}`),
    end(error) {
      this.ended = error ?? "quietly";
    },
  };
}
const described = (change: Change<Widget>): string =>
  `${change.type} ${change.object.metadata.name}${change.type === "put" && change.previous ? " again" : ""}`;

test("an object that leaves a selection is DELETED with its last matching state, at the new revision", async () => {
  const { store } = unreliableStore();
  const cache = cacheOf(store);
  await cache.synced();
  const watcher = recorder();
  cache.watch(select(Widget, "default", { labelSelector: "color=red" }), cache.revision, watcher);

  const first = await put(store, "a", { color: "red" });
  const second = await put(store, "a", { color: "blue" });
  await put(store, "a", { color: "green" });
  const fourth = await put(store, "a", { color: "red" });
  await remove(store, "a");

  assert.deepEqual(watcher.seen, [
    `ADDED a red at ${first}`,
    `DELETED a red at ${second}`,
    `ADDED a red at ${fourth}`,
    `DELETED a red at ${fourth + 1}`,
  ]);
});

test("a resumed watch sees the same as one that never ended", async () => {
  const { store } = unreliableStore();
  const cache = cacheOf(store);
  await cache.synced();
  const from = cache.revision;
  const selection = select(Widget, "", { labelSelector: "color=red" });
  const live = recorder();
  cache.watch(selection, from, live);
  await put(store, "a", { color: "red" });
  await put(store, "b");
  await put(store, "a", { color: "blue" });

  const late = recorder();
  cache.watch(selection, from, late);
  await put(store, "b", { color: "red" });

  assert.equal(live.seen.length, 3);
  assert.deepEqual(late.seen, live.seen);
});

test("a watch can start before the cache did, as long as the store remembers", async () => {
  const { store } = unreliableStore();
  const selection = select(Widget, "", { labelSelector: "color=red" });
  const from = await put(store, "a", { color: "red" });
  const second = await put(store, "a", { color: "blue" });
  const third = await put(store, "b", { color: "red" });
  await remove(store, "b");
  const cache = cacheOf(store);
  await cache.synced();
  const watcher = recorder();

  cache.watch(selection, from, watcher);
  const fifth = await put(store, "c", { color: "red" });
  await clock.settle();
  const sixth = await put(store, "d", { color: "red" });

  assert.deepEqual(watcher.seen, [
    `DELETED a red at ${second}`,
    `ADDED b red at ${third}`,
    `DELETED b red at ${third + 1}`,
    `ADDED c red at ${fifth}`,
    `ADDED d red at ${sixth}`,
  ]);
  await store.compact(store.revision);
  assert.throws(() => cache.watch(selection, from, watcher), isExpired);
});

test("a cache that lost its watch ends its watchers and reports the difference to informers", async () => {
  const { store, fail } = unreliableStore();
  for (const name of ["same", "changed", "gone"]) await put(store, name);
  const cache = cacheOf(store);
  await cache.synced();
  const watcher = recorder();
  cache.watch(select(Widget, ""), cache.revision, watcher);
  const changes: string[] = [];
  cache.subscribe((change) => changes.push(described(change)));
  changes.length = 0;
  const same = cache.get({ namespace: "default", name: "same" });

  fail(3);
  await put(store, "changed", { color: "red" });
  await remove(store, "gone");
  await put(store, "new");
  assert.equal(cache.list("default").length, 3, "it keeps its state until it is filled again");
  assert.equal(cache.isReady, false);
  await clock.advance(5000);

  assert.ok(watcher.ended instanceof StatusError && isExpired(watcher.ended));
  assert.equal(cache.isReady, true);
  assert.deepEqual(changes, ["put changed again", "put new", "delete gone"]);
  assert.equal(cache.get({ namespace: "default", name: "same" }), same);
  assert.equal(cache.revision, store.revision);
  await put(store, "later");
  assert.deepEqual(watcher.seen, []);
  assert.equal(changes.at(-1), "put later");
});

test("a cache that cannot be filled reports an error and can be used later", async () => {
  const { store, fail } = unreliableStore();
  await put(store, "a");
  fail(1);
  const cache = cacheOf(store);

  await assert.rejects(cache.synced(), /away/);
  await cache.synced();

  assert.equal(cache.list().length, 1);
});

test("subscribing to a cache that cannot be filled rejects nothing that nobody awaits", async () => {
  const { store, fail } = unreliableStore();
  await put(store, "a");
  fail(1);
  const cache = cacheOf(store);
  const changes: string[] = [];

  cache.subscribe(({ object }) => changes.push(object.metadata.name ?? ""));
  await nextTurn(); // An unhandled rejection would end the test here.
  await cache.synced();

  assert.deepEqual(changes, ["a"]);
});

test("a watcher that fails is ended, and the others continue", async () => {
  const { store } = unreliableStore();
  const cache = cacheOf(store);
  await cache.synced();
  const broken: CacheWatcher & { ended?: Error | undefined } = {
    load: "idle",
    onIdle: (wake) => wake(),
    batch() {
      throw new Error("broken");
    },
    stateSent() {},
    bookmark() {},
    end(error) {
      this.ended = error;
    },
  };
  const well = recorder();
  cache.watch(select(Widget, ""), cache.revision, broken);
  cache.watch(select(Widget, ""), cache.revision, well);

  await put(store, "a");
  await put(store, "b");

  assert.equal(broken.ended?.message, "broken");
  assert.equal(well.seen.length, 2);
  assert.equal(cache.isReady, true);
});

test("an internal error that ends a watch is logged", async () => {
  const { store } = unreliableStore();
  await put(store, "a");
  const from = store.revision;
  await put(store, "b");
  const broken: Store = { ...store, compactedRevision: 0, changes: () => Promise.reject(new Error("broken")) };
  const logged: string[] = [];
  const cache = cacheOf(broken, { ...silentLog, error: (message) => void logged.push(message) });
  await cache.synced();
  const ended = Promise.withResolvers<Error | undefined>();

  cache.watch(select(Widget, ""), from, { ...recorder(), end: ended.resolve });

  assert.equal((await ended.promise)?.message, "broken");
  assert.deepEqual(logged, ["a watch failed"]);
});

test("reaches() waits for a revision up to its limit", async () => {
  const { store } = unreliableStore();
  const cache = cacheOf(store);
  await cache.synced();
  await put(store, "a");
  const { pending } = clock;

  const soon = cache.reaches(cache.revision + 1, 1000);
  const never = cache.reaches(cache.revision + 5, 1000);
  await put(store, "b");
  await clock.advance(1000);

  assert.deepEqual([await soon, await never], [true, false]);
  assert.equal(clock.pending, pending);
});

test("every watcher gets a bookmark once a minute", async () => {
  const { store } = unreliableStore();
  const cache = cacheOf(store);
  await cache.synced();
  const watcher = recorder();
  const watch = cache.watch(select(Widget, "elsewhere"), cache.revision, watcher);
  const revision = await put(store, "a");

  await clock.advance(60_000);
  watch.stop();
  await clock.advance(60_000);

  assert.deepEqual(watcher.seen, [`BOOKMARK ${revision}`]);
});
