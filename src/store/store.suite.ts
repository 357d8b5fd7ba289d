import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { type Clock } from "#lib/async/clock.ts";
import { createVirtualClock, type VirtualClock } from "#testing/virtual-clock.ts";
import { type Change, CompactedError, FutureRevisionError, type Store, type StoreEvent } from "./store.ts";

export interface SuiteOptions {
  /** The store itself drops keys by a clock that a test cannot set, so it has its own tests of that. */
  readonly hasOwnTime?: boolean;
}

/** The contract of Store, which every backend runs. `open` returns an empty store. */
export function storeSuite(
  name: string,
  open: (clock: Clock) => Promise<Store>,
  { hasOwnTime = false }: SuiteOptions = {},
): void {
  const claim = (title: string, body: (store: Store, clock: VirtualClock) => Promise<void>) =>
    test(title, async () => {
      const clock = createVirtualClock();
      await using store = await open(clock);
      await body(store, clock);
    });

  suite(name, () => {
    suite("commit", () => commitClaims(claim));
    suite("deletes", () => deleteClaims(claim));
    suite("concurrent commits", () => concurrencyClaims(claim));
    suite("list", () => listClaims(claim));
    suite("list at a revision", () => listAtRevisionClaims(claim));
    suite("history", () => historyClaims(claim));
    suite("watch", () => watchClaims(claim));
    suite("the start of a watch", () => watchStartClaims(claim));
    suite("the batches of a watch", () => watchBatchClaims(claim));
    suite("the end of a watch", () => watchEndClaims(claim));
    if (!hasOwnTime) suite("ttl", () => ttlClaims(claim));
  });
}

type Claim = (title: string, body: (store: Store, clock: VirtualClock) => Promise<void>) => void;

function commitClaims(claim: Claim): void {
  claim("a write can be read immediately", async (store) => {
    const revision = await put(store, "/a", "1");

    assert.deepEqual(plain(await store.get("/a")), { key: "/a", value: "1", revision, created: revision });
    assert.equal(store.revision, revision);
    assert.equal(await store.get("/b"), undefined);
  });

  claim("a new store has a revision, and every commit takes the next", async (store) => {
    const start = store.revision;
    assert(start > 0);

    assert.equal(await put(store, "/a", "1"), start + 1);
    assert.equal(await put(store, "/a", "2"), start + 2);
    assert.equal(await put(store, "/b", "1"), start + 3);
  });

  claim("a failed expectation changes nothing and returns the current entry", async (store) => {
    const first = await put(store, "/a", "1");
    const second = await put(store, "/a", "2", first);

    const stale = await store.commit([{ key: "/a", value: bytes("3"), expected: first }]);

    assert(!stale.ok);
    assert.equal(stale.key, "/a");
    assert.deepEqual(plain(stale.current), { key: "/a", value: "2", revision: second, created: first });
    assert.equal(store.revision, second);
  });

  claim("an expectation of 0 requires that the key is absent", async (store) => {
    const missing = await store.commit([{ key: "/a", value: bytes("1"), expected: 7 }]);
    assert(!missing.ok);
    assert.equal(missing.current, undefined);

    await put(store, "/a", "1", 0);

    const second = await store.commit([{ key: "/a", value: bytes("2"), expected: 0 }]);
    assert(!second.ok);
    assert.equal(text(second.current?.value), "1");
  });

  claim("a commit of many keys has one revision, and happens completely or not at all", async (store) => {
    const revision = await commit(store, [
      { key: "/a", value: bytes("1") },
      { key: "/b", value: bytes("1"), expected: 0 },
    ]);
    const refused = await store.commit([
      { key: "/a", value: bytes("2"), expected: revision },
      { key: "/b", value: bytes("2"), expected: 0 },
      { key: "/c", value: bytes("2"), expected: 9 },
    ]);

    assert(!refused.ok);
    assert.equal(refused.key, "/b");
    const { entries } = await store.list("/");
    assert.deepEqual(entries.map(plain), [
      { key: "/a", value: "1", revision, created: revision },
      { key: "/b", value: "1", revision, created: revision },
    ]);
  });
}

function deleteClaims(claim: Claim): void {
  claim("a key that is deleted and created again has a new `created`", async (store) => {
    const first = await put(store, "/a", "1");
    const update = await put(store, "/a", "2");
    assert.equal((await store.get("/a"))?.created, first);
    await commit(store, [{ key: "/a", value: undefined, expected: update }]);
    assert.equal(await store.get("/a"), undefined);

    const again = await put(store, "/a", "3", 0);

    assert.equal((await store.get("/a"))?.created, again);
  });

  claim("deleting an absent key changes nothing", async (store) => {
    const before = await put(store, "/a", "1");

    const revision = await commit(store, [{ key: "/b", value: undefined }]);

    assert.equal(revision, before);
    assert.equal(store.revision, before);
    assert.equal(await commit(store, []), before);
  });

  claim("a commit that names a key twice is an error", async (store) => {
    const twice = [
      { key: "/a", value: bytes("1") },
      { key: "/a", value: bytes("2") },
    ];
    await assert.rejects(store.commit(twice), /changes \/a twice/);
  });
}

function concurrencyClaims(claim: Claim): void {
  claim("exactly one of several concurrent writers of one revision wins", async (store) => {
    const base = await put(store, "/a", "0");

    const attempts = Array.from({ length: 50 }, (_, n) =>
      store.commit([{ key: "/a", value: bytes(`${n}`), expected: base }]),
    );
    const answers = await Promise.all(attempts);

    const winners = answers.filter(({ ok }) => ok);
    assert.equal(winners.length, 1);
    for (const answer of answers) {
      if (!answer.ok) assert.equal(answer.current?.revision, base + 1);
    }
    assert.equal(store.revision, base + 1);
  });

  claim("concurrent increments are not lost", async (store) => {
    await put(store, "/n", "0");
    const increment = async () => {
      for (;;) {
        const entry = await store.get("/n");
        const value = bytes(String(Number(text(entry?.value)) + 1));
        const answer = await store.commit([{ key: "/n", value, expected: entry?.revision ?? 0 }]);
        if (answer.ok) return;
      }
    };

    await Promise.all(Array.from({ length: 20 }, increment));

    assert.equal(text((await store.get("/n"))?.value), "20");
  });

  claim("a refused writer can read the entry that it conflicts with", async (store) => {
    const base = await put(store, "/a", "0");

    const write = async (value: string) => {
      const answer = await store.commit([{ key: "/a", value: bytes(value), expected: base }]);
      return { answer, read: await store.get("/a") };
    };

    const results = await Promise.all([write("1"), write("2")]);

    const refused = results.find(({ answer }) => !answer.ok);
    assert(refused && !refused.answer.ok);
    assert.deepEqual(refused.read, refused.answer.current);
  });

  claim("values of any size and content are returned unchanged", async (store) => {
    const big = new Uint8Array(3 << 20).map((_, n) => n * 31);
    const values = [new Uint8Array(0), new Uint8Array([0, 255, 0]), big];

    await Promise.all(values.map((value, n) => commit(store, [{ key: `/${n}`, value }])));

    for (const [n, value] of values.entries()) {
      const entry = await store.get(`/${n}`);
      assert(entry && Buffer.from(entry.value).equals(value), `value ${n}`);
    }
  });
}

function listClaims(claim: Claim): void {
  claim("lists the keys with the prefix, in byte order", async (store) => {
    const inOrder = ["/a", "/a/b", "/a/c", "/a/é", "/a/\uff5e", "/a/\u{1f600}", "/a0", "/ab", "/b"];
    for (const key of inOrder.toReversed()) await put(store, key, "1");

    assert.deepEqual(await keysOf(store, ""), inOrder);
    assert.deepEqual(await keysOf(store, "/a"), inOrder.slice(0, 8));
    assert.deepEqual(await keysOf(store, "/a/"), inOrder.slice(1, 6));
    assert.deepEqual(await keysOf(store, "/ab"), ["/ab"]);
    assert.deepEqual(await keysOf(store, "/c"), []);
  });

  claim("pages add up to the whole list, and each says how many keys remain", async (store) => {
    const names = Array.from({ length: 25 }, (_, n) => `/p/${String(n).padStart(2, "0")}`);
    await Promise.all([...names, "/o", "/p", "/q"].map((key) => put(store, key, "1")));

    const pages: string[][] = [];
    let after: string | undefined;
    for (;;) {
      const page = await store.list("/p/", { limit: 10, ...(after !== undefined && { after }) });
      pages.push(page.entries.map(({ key }) => key));
      assert.equal(page.remaining, names.length - pages.flat().length);
      after = page.entries.at(-1)?.key;
      if (page.remaining === 0) break;
    }

    assert.deepEqual(
      pages.map(({ length }) => length),
      [10, 10, 5],
    );
    assert.deepEqual(pages.flat(), names);
  });
}

function listAtRevisionClaims(claim: Claim): void {
  claim("pages at one revision do not see later changes", async (store) => {
    const names = Array.from({ length: 10 }, (_, n) => `/p/${n}`);
    await commit(
      store,
      names.map((key) => ({ key, value: bytes("old") })),
    );
    const first = await store.list("/p/", { limit: 4 });
    await put(store, "/p/5", "new");
    await put(store, "/p/55", "new");
    await commit(store, [{ key: "/p/7", value: undefined }]);
    await commit(store, [{ key: "/p/0", value: undefined }]);

    const second = await store.list("/p/", { limit: 4, after: "/p/3", revision: first.revision });
    const third = await store.list("/p/", { after: "/p/7", revision: first.revision });

    assert.deepEqual([first.remaining, second.remaining, third.remaining], [6, 2, 0]);
    const all = [...first.entries, ...second.entries, ...third.entries];
    assert.deepEqual(
      all.map(({ key }) => key),
      names,
    );
    assert(all.every(({ value }) => text(value) === "old"));
    assert.equal(second.revision, first.revision);
    assert.deepEqual(await keysOf(store, "/p/"), [
      "/p/1",
      "/p/2",
      "/p/3",
      "/p/4",
      "/p/5",
      "/p/55",
      "/p/6",
      "/p/8",
      "/p/9",
    ]);
  });

  claim("the number of remaining keys is right at every revision", async (store) => {
    const revisions: { revision: number; keys: string[] }[] = [];
    const keys = new Set<string>();
    for (let n = 0; n < 120; n++) {
      const key = `/k/${(n * 7) % 30}`;
      await commit(store, [{ key, value: n % 3 === 2 ? undefined : bytes(`${n}`) }]);
      if (n % 3 === 2) keys.delete(key);
      else keys.add(key);
      revisions.push({ revision: store.revision, keys: [...keys].sort() });
    }

    for (const { revision, keys: expected } of revisions) {
      const page = await store.list("/k/", { limit: 3, revision });
      assert.equal(page.entries.length + page.remaining, expected.length, `at ${revision}`);
      assert.deepEqual(
        page.entries.map(({ key }) => key),
        expected.slice(0, 3),
      );
    }
  });
}

function historyClaims(claim: Claim): void {
  claim("old revisions can be read until they are compacted", async (store) => {
    const before = store.revision;
    const first = await put(store, "/a", "1");
    const second = await put(store, "/a", "2");
    const gone = await commit(store, [{ key: "/a", value: undefined }]);
    assert.equal(text((await store.get("/a", first))?.value), "1");
    assert.equal(text((await store.get("/a", second))?.value), "2");
    assert.equal(await store.get("/a", before), undefined);
    assert.equal(await store.get("/a", gone), undefined);

    await store.compact(second);

    assert.equal(store.compactedRevision, second);
    await assert.rejects(store.get("/a", first), CompactedError);
    await assert.rejects(store.list("/", { revision: first }), CompactedError);
    assert.equal(text((await store.get("/a", second))?.value), "2");
    assert.equal(store.revision, gone);
  });

  claim("compaction keeps the newest version of every key", async (store) => {
    for (let n = 0; n < 30; n++) await put(store, `/k/${n % 10}`, `${n}`);
    await commit(store, [{ key: "/k/3", value: undefined }]);

    await store.compact(store.revision);

    const { entries, revision } = await store.list("/k/", { revision: store.revision });
    assert.deepEqual(
      entries.map(({ value }) => text(value)),
      ["20", "21", "22", "24", "25", "26", "27", "28", "29"],
    );
    assert.equal(await put(store, "/k/3", "again"), revision + 1);
    assert.equal((await store.get("/k/3"))?.created, revision + 1);
  });

  claim("a future revision cannot be read", async (store) => {
    const future = (await put(store, "/a", "1")) + 1;

    await assert.rejects(store.get("/a", future), FutureRevisionError);
    await assert.rejects(store.list("/", { revision: future }), FutureRevisionError);
    await assert.rejects(store.compact(future), FutureRevisionError);
  });
}

function watchClaims(claim: Claim): void {
  claim("shows every change under the prefix once and in order", async (store) => {
    const seen = collect(store, "/a/", store.revision);
    const first = await put(store, "/a/x", "1");
    await put(store, "/ab", "not under the prefix");
    const second = await put(store, "/a/x", "2");
    const third = await commit(store, [{ key: "/a/x", value: undefined }]);
    await seen.upTo(third);

    assert.deepEqual(seen.events.map(plainEvent), [
      { key: "/a/x", value: "1", revision: first, created: first, previous: undefined },
      { key: "/a/x", value: "2", revision: second, created: first, previous: "1" },
      { key: "/a/x", value: undefined, revision: third, created: first, previous: "2" },
    ]);
  });

  claim("reports the revision even when nothing changed under the prefix", async (store) => {
    const seen = collect(store, "/a/", store.revision);

    await seen.upTo(await put(store, "/b", "1"));

    assert.deepEqual(seen.events, []);
  });
}

function watchStartClaims(claim: Claim): void {
  claim("a prefix without a trailing slash matches as a string", async (store) => {
    const from = store.revision;
    const watchers = ["", "/a", "/ab", "/a/"].map((prefix) => collect(store, prefix, from));
    for (const key of ["/a", "/a/x", "/ab"]) await put(store, key, "1");
    for (const seen of watchers) await seen.upTo(store.revision);

    assert.deepEqual(
      watchers.map(({ events }) => events.map(({ key }) => key)),
      [["/a", "/a/x", "/ab"], ["/a", "/a/x", "/ab"], ["/ab"], ["/a/x"]],
    );
  });

  claim("starts from any revision in the history", async (store) => {
    const revisions: number[] = [];
    for (let n = 0; n < 20; n++) revisions.push(await put(store, `/k/${n % 3}`, `${n}`));
    const watchers = revisions.map((from) => collect(store, "/k/", from));
    revisions.push(await put(store, "/k/0", "last"));
    for (const seen of watchers) await seen.upTo(store.revision);

    for (const [n, { events }] of watchers.entries()) {
      assert.deepEqual(
        events.map(({ revision }) => revision),
        revisions.slice(n + 1),
      );
    }
  });
}

function watchBatchClaims(claim: Claim): void {
  claim("the changes of one commit come in one batch", async (store) => {
    const seen = collect(store, "/", store.revision);
    const changes = Array.from({ length: 10 }, (_, n) => ({ key: `/${n}`, value: bytes("1") }));
    await Promise.all([put(store, "/x", "1"), store.commit(changes), put(store, "/y", "1")]);
    await seen.upTo(store.revision);

    const whole = seen.batches.filter((batch) => batch.some(({ key }) => key === "/0"));
    assert.equal(whole.length, 1);
    for (const { key } of changes) assert(whole[0]?.some((event) => event.key === key));
  });

  claim("all watchers see the changes of concurrent writers in the same order", async (store) => {
    const from = store.revision;
    const early = collect(store, "/k/", from);
    const writes = Array.from({ length: 300 }, (_, n) => put(store, `/k/${n % 17}`, `${n}`));
    await Promise.all(writes.slice(0, 100));
    const late = collect(store, "/k/", from);
    await Promise.all(writes);
    await early.upTo(store.revision);
    await late.upTo(store.revision);

    const revisions = early.events.map(({ revision }) => revision);
    assert.deepEqual(
      revisions,
      Array.from({ length: 300 }, (_, n) => from + 1 + n),
    );
    assert.deepEqual(late.events, early.events);
  });

  claim("watchers have received a commit before it is answered", async (store) => {
    const order: string[] = [];
    const { promise, resolve } = Promise.withResolvers<void>();
    store.watch("/", store.revision, {
      events: () => {
        order.push("watcher");
        resolve();
      },
      failed: () => {},
    });
    const wrapped = async () => await put(store, "/a", "1");

    await wrapped();
    order.push("writer");
    await promise;

    assert.deepEqual(order, ["watcher", "writer"]);
  });
}

function watchEndClaims(claim: Claim): void {
  claim("nothing is delivered after the end", async (store) => {
    const seen = collect(store, "/", store.revision);
    const other = collect(store, "/", store.revision);
    await seen.upTo(await put(store, "/a", "1"));

    seen.stop();
    await other.upTo(await put(store, "/a", "2"));

    assert.equal(seen.events.length, 1);
  });

  claim("a compacted or future revision cannot be watched", async (store) => {
    const first = await put(store, "/a", "1");
    const second = await put(store, "/a", "2");
    await store.compact(second);

    assert.throws(() => collect(store, "/", first), CompactedError);
    assert.throws(() => collect(store, "/", second + 1), FutureRevisionError);
    const seen = collect(store, "/", second);
    await seen.upTo(await put(store, "/a", "3"));
    assert.equal(seen.events.length, 1);
    assert.equal(text(seen.events[0]?.previous?.value), "2");
  });

  claim("a watcher that throws gets `failed` and does not affect others", async (store) => {
    const failure = Promise.withResolvers<Error>();
    store.watch("/", store.revision, {
      events: () => {
        throw new Error("broken");
      },
      failed: failure.resolve,
    });
    const seen = collect(store, "/", store.revision);

    await seen.upTo(await put(store, "/a", "1"));

    assert.equal((await failure.promise).message, "broken");
    await seen.upTo(await put(store, "/a", "2"));
    assert.equal(seen.events.length, 2);
  });
}

function ttlClaims(claim: Claim): void {
  claim("a key is deleted when its time to live is over", async (store, clock) => {
    const seen = collect(store, "/", store.revision);
    await commit(store, [{ key: "/short", value: bytes("1"), ttlSeconds: 60 }]);
    await commit(store, [{ key: "/long", value: bytes("1"), ttlSeconds: 3600 }]);
    await put(store, "/forever", "1");
    const { revision } = store;

    await clock.advance(59_000);
    assert.equal((await store.list("/")).entries.length, 3);
    await clock.advance(10_000);
    await seen.upTo(revision + 1);

    assert.deepEqual(await keysOf(store, "/"), ["/forever", "/long"]);
    const last = seen.events.at(-1);
    assert.equal(last?.key, "/short");
    assert.equal(last?.value, undefined);
  });

  claim("a write sets a new time to live, or none", async (store, clock) => {
    const seen = collect(store, "/", store.revision);
    for (const key of ["/a", "/b", "/c"]) await commit(store, [{ key, value: bytes("1"), ttlSeconds: 60 }]);
    await clock.advance(50_000);
    await commit(store, [{ key: "/a", value: bytes("2"), ttlSeconds: 60 }]);
    await put(store, "/b", "2");
    const { revision } = store;
    await clock.advance(20_000);
    await seen.upTo(revision + 1);
    assert.deepEqual(await keysOf(store, "/"), ["/a", "/b"]);

    await clock.advance(50_000);
    await seen.upTo(revision + 2);

    assert.deepEqual(await keysOf(store, "/"), ["/b"]);
  });

  claim("keys that expire together are deleted in one revision each", async (store, clock) => {
    const seen = collect(store, "/", store.revision);
    const names = Array.from({ length: 700 }, (_, n) => `/${n}`);
    await Promise.all(names.map((key) => commit(store, [{ key, value: bytes("1"), ttlSeconds: 10 }])));
    const { revision } = store;

    await clock.advance(15_000);
    await seen.upTo(revision + names.length);

    assert.deepEqual(await keysOf(store, "/"), []);
    assert.equal(store.revision, revision + names.length);
  });
}

export const bytes = (value: string): Uint8Array => new TextEncoder().encode(value);
export const text = (value: Uint8Array | undefined): string | undefined => value && new TextDecoder().decode(value);

/** Commits changes that must not be refused; returns the revision. */
export async function commit(store: Store, changes: readonly Change[]): Promise<number> {
  const answer = await store.commit(changes);
  assert(answer.ok, `refused: ${JSON.stringify(answer)}`);
  return answer.revision;
}

export const put = (store: Store, key: string, value: string, expected?: number): Promise<number> =>
  commit(store, [{ key, value: bytes(value), ...(expected !== undefined && { expected }) }]);

export const keysOf = async (store: Store, prefix: string): Promise<string[]> =>
  (await store.list(prefix)).entries.map(({ key }) => key);

export interface Collected {
  readonly events: StoreEvent[];
  readonly batches: (readonly StoreEvent[])[];
  /** Resolves when everything up to this revision has been delivered. */
  upTo(revision: number): Promise<void>;
  stop(): void;
}

/** Watches, and checks that each change comes once and in order. */
export function collect(store: Store, prefix: string, from: number): Collected {
  const events: StoreEvent[] = [];
  const batches: (readonly StoreEvent[])[] = [];
  const waiting: { revision: number; resolve: () => void; reject: (error: Error) => void }[] = [];
  let reached = from;
  const stop = store.watch(prefix, from, {
    events(batch, revision) {
      for (const event of batch) assert(event.revision > reached && event.revision <= revision, "in order and once");
      batches.push(batch);
      events.push(...batch);
      reached = revision;
      for (const waiter of waiting) if (waiter.revision <= reached) waiter.resolve();
    },
    failed: (error) => {
      for (const waiter of waiting) waiter.reject(error);
    },
  });
  const upTo = (revision: number) =>
    revision <= reached
      ? Promise.resolve()
      : new Promise<void>((resolve, reject) => waiting.push({ revision, resolve, reject }));
  return { events, batches, upTo, stop };
}

const plain = (entry: { key: string; value: Uint8Array; revision: number; created: number } | undefined) =>
  entry && { key: entry.key, value: text(entry.value), revision: entry.revision, created: entry.created };

const plainEvent = ({ key, value, revision, created, previous }: StoreEvent) => ({
  key,
  value: text(value),
  revision,
  created,
  previous: text(previous?.value),
});
