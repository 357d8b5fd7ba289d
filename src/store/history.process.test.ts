import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { nextTurn } from "#lib/async/turns.ts";
import { heldBufferBytes } from "#testing/held-buffers.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { History, historyLimitsOf, type Row, usableMemory } from "./history.ts";
import { openMemoryStore } from "./memory.ts";
import { bytes, collect, commit, put } from "./store.suite.ts";
import { CompactedError } from "./store.ts";

const generous = { maxEvents: 1e9, maxBytes: 1e12, maxAgeMs: 1e9 };

function rowOf(n: number, key: string, value: string | undefined): Row {
  return {
    row: n,
    revision: n,
    created: n,
    at: n * 1000,
    expires: 0,
    key,
    value: value === undefined ? value : bytes(value),
  };
}

/** Of 100 changes, one a second, two minutes of 25 are one minute of 50. */
const shrinking = { maxAgeMs: 100_000, fullAgeBytes: 25 * (640 + 2 + 5) };
const floor = { ...shrinking, minAgeMs: 70_000 };

suite("History", () => {
  for (const { machine, kept } of [
    { machine: 1 << 30, kept: 96 << 20 },
    { machine: 8 * 2 ** 30, kept: (8 * 2 ** 30) / 50 },
    { machine: 256 * 2 ** 30, kept: 256 << 20 },
  ]) {
    test(`keeps ${Math.round(kept / 2 ** 20)} MiB on a machine with ${machine / 2 ** 30} GiB`, () => {
      assert.equal(historyLimitsOf(machine).maxBytes, kept);
    });
  }

  test("counts only on the memory that a container may take of the machine", () => {
    const machine = 64 * 2 ** 30;
    assert.deepEqual(
      [0, 2 ** 64, 1 << 30].map((allowed) => usableMemory(machine, allowed)),
      [machine, machine, 1 << 30],
    );
  });

  const cases = [
    { limit: "count", limits: { ...generous, maxEvents: 10 }, forgotten: 90 },
    { limit: "size", limits: { ...generous, maxBytes: 10 * (640 + 2 + 5) }, forgotten: 90 },
    { limit: "age", limits: { ...generous, maxAgeMs: 10_000 }, forgotten: 90 },
    { limit: "an age that is shorter the larger it is", limits: { ...generous, ...shrinking }, forgotten: 50 },
    { limit: "an age that has a minimum", limits: { ...generous, ...floor }, forgotten: 30 },
  ];
  for (const { limit, limits, forgotten } of cases) {
    test(`is limited by ${limit}, and drops old changes in small steps`, () => {
      const dropped: number[] = [];
      const history = new History(limits, (row) => dropped.push(row));
      for (let n = 2; n <= 101; n++) history.append(rowOf(n, "/a", "value"));

      let steps = 1;
      while (history.trim(101_000, 7)) steps++;

      assert.equal(history.compactedRevision, forgotten + 1);
      assert.equal(steps, Math.ceil(forgotten / 7));
      // The first row replaced nothing.
      assert.equal(dropped.length, forgotten - 1);
      assert.equal(history.changesAfter(forgotten + 1, 1000).length, 100 - forgotten);
    });
  }

  test("releases the memory of dropped values", () => {
    const size = 100_000;
    const history = new History({ ...generous, maxBytes: 10 * size });
    const before = heldBufferBytes();

    for (let n = 2; n <= 900; n++) {
      history.append({ ...rowOf(n, "/a", undefined), value: Buffer.allocUnsafeSlow(size) });
      history.trim(n * 1000, 2);
    }

    const held = heldBufferBytes() - before;
    assert(history.changesAfter(history.compactedRevision, 100).length >= 9);
    assert(held < 20 * size, `${held} bytes are held`);
  });

  test("drops exactly the rows that can no longer be read, each once", () => {
    const dropped: number[] = [];
    const history = new History(generous, (row) => dropped.push(row));
    history.append(rowOf(2, "/a", "1"));
    history.append(rowOf(3, "/a", "2"));
    history.append(rowOf(4, "/b", "1"));
    history.append(rowOf(5, "/b", undefined));
    history.append(rowOf(6, "/b", "2"));
    history.append(rowOf(7, "/c", "1"));
    history.append(rowOf(8, "/c", undefined));

    history.compact(5, 100);
    assert.deepEqual(dropped, [2, 4]);
    history.compact(8, 100);

    assert.deepEqual(dropped, [2, 4, 5, 7, 8]);
    assert.deepEqual(
      history.list("").entries.map(({ key, revision }) => [key, revision]),
      [
        ["/a", 3],
        ["/b", 6],
      ],
    );
  });

  test("is the same after a restore from its rows", () => {
    const rows = Array.from({ length: 200 }, (_, n) =>
      rowOf(n + 2, `/${(n * 7) % 23}`, n % 5 === 4 ? undefined : `${n}`),
    );
    const dropped = new Set<number>();
    const before = new History(generous, (row) => dropped.add(row));
    for (const row of rows) before.append(row);
    before.compact(120, 1000);

    // A deletion is kept only while older versions of its key are; dropping it now loses nothing.
    const isDeletion = (row: number) => rows.some((kept) => kept.row === row && kept.value === undefined);
    const after = new History(generous, (row) => assert(isDeletion(row), `row ${row} should not have been kept`));
    for (const row of rows) if (!dropped.has(row.row)) after.restore(row, before.compactedRevision);
    after.restored(before.compactedRevision);

    assert.equal(after.revision, before.revision);
    for (let revision = 120; revision <= before.revision; revision += 9) {
      assert.deepEqual(after.list("/1", { revision, limit: 3 }), before.list("/1", { revision, limit: 3 }));
      assert.deepEqual(after.changesAfter(revision, 1000), before.changesAfter(revision, 1000));
    }
  });
});

/** Blocks the feed until it resolves. */

suite("WatchHub", () => {
  test("a watcher far behind catches up in several turns and misses nothing", async () => {
    await using store = openMemoryStore({ clock: createVirtualClock() });
    const from = store.revision;
    for (let n = 0; n < 10_000; n++) await put(store, `/${n % 2 ? "a" : "b"}/${n}`, "1");
    await nextTurn();
    const seen = collect(store, "/a/", from);
    const last = await put(store, "/a/last", "1");
    await seen.upTo(last);

    assert(seen.batches.length > 3);
    assert.equal(seen.events.length, 5001);
    assert.equal(seen.events.at(-1)?.key, "/a/last");
  });

  test("a watcher that compaction overtakes must start over", async () => {
    await using store = openMemoryStore({ clock: createVirtualClock() });
    const from = store.revision;
    for (let n = 0; n < 10_000; n++) await put(store, `/${n}`, "1");
    await nextTurn();
    const failure = Promise.withResolvers<Error>();
    store.watch("/", from, { events: () => {}, failed: failure.resolve });

    await store.compact(store.revision);

    assert((await failure.promise) instanceof CompactedError);
  });

  test("a watcher may stop itself or others, and start new ones, during delivery", async () => {
    await using store = openMemoryStore({ clock: createVirtualClock() });
    const others = [collect(store, "/", store.revision)];
    const stop = store.watch("/", store.revision, {
      events(_, revision) {
        stop();
        others.push(collect(store, "/", revision));
      },
      failed: assert.fail,
    });
    await commit(store, [{ key: "/a", value: bytes("1") }]);
    const last = await put(store, "/a", "2");
    await others[0]?.upTo(last);
    const later = await put(store, "/a", "3");
    for (const seen of others) await seen.upTo(later);

    assert.deepEqual(
      others.map(({ events }) => events.length),
      [3, 2],
    );
  });
});

suite("pages of changes", () => {
  test("cover all changes under a prefix, once each, with the previous values", async () => {
    await using store = openMemoryStore({ clock: createVirtualClock() });
    const from = store.revision;
    for (let n = 0; n < 300; n++) await put(store, n % 3 ? `/b/${n}` : `/a/${n % 2}`, String(n));

    const seen: string[] = [];
    let pages = 0;
    for (let after = from; after < store.revision; pages++) {
      const { events, revision } = await store.changes("/a/", { after, limit: 10, maxBytes: 1000 });
      assert(events.length <= 10 && revision > after, "a page is bounded and leads on");
      for (const { value, previous } of events) seen.push(`${text(previous?.value)}>${text(value)}`);
      after = revision;
    }

    const wanted = Array.from({ length: 100 }, (_, n) => `${n < 2 ? "" : (n - 2) * 3}>${n * 3}`);
    assert.deepEqual(seen, wanted);
    assert(pages >= 10);
  });

  test("are bounded by bytes, and never split a commit", async () => {
    await using store = openMemoryStore({ clock: createVirtualClock() });
    const after = store.revision;
    const keys = Array.from({ length: 20 }, (_, n) => `/a/${n}`);
    await commit(
      store,
      keys.map((key) => ({ key, value: bytes("x".repeat(100)) })),
    );
    const second = await put(store, "/a/last", "x");

    const { events, revision } = await store.changes("/a/", { after, limit: 5, maxBytes: 200 });

    assert.deepEqual([events.length, revision], [20, second - 1]);
  });

  test("fail when the history is gone", async () => {
    await using store = openMemoryStore({ clock: createVirtualClock() });
    const after = store.revision;
    await put(store, "/a", "1");
    await store.compact(store.revision);

    await assert.rejects(store.changes("/", { after, limit: 5, maxBytes: 200 }), CompactedError);
    const none = await store.changes("/", { after: store.revision, limit: 5, maxBytes: 200 });

    assert.deepEqual(none, { events: [], revision: store.revision });
  });
});

const text = (value: Uint8Array | undefined): string => Buffer.from(value ?? []).toString();
