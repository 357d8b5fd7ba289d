import assert from "node:assert/strict";
import { suite, test } from "node:test";
import fc from "fast-check";
import { type WatchLoad } from "#api/exchange.ts";
import { isExpired } from "#api/status.ts";
import { silentLog } from "#lib/process/log.ts";
import { openMemoryStore } from "#store/memory.ts";
import { type Store } from "#store/store.ts";
import { build } from "#testing/build.ts";
import { createVirtualClock, type VirtualClock } from "#testing/virtual-clock.ts";
import { Widget } from "#testing/widget.ts";
import { codecOf, toStoredBytes } from "./encode-once.ts";
import { select } from "./selection.ts";
import { type CacheWatch, WatchCache } from "./watch-cache.ts";
import { type CacheWatcher } from "./watch-feed.ts";
import { type WatchBatch } from "./watch-groups.ts";

interface Line {
  readonly type: string;
  readonly name: string;
  readonly color: string;
  readonly revision: number;
}

/** A watcher whose reader accepts events only when the test says so. */
class SlowReader implements CacheWatcher {
  readonly read: Line[] = [];
  readonly unread: Line[] = [];
  readonly batches: WatchBatch[] = [];
  ended: Error | "quietly" | undefined;
  mostUnread = 0;
  readonly #fullAt: number;
  #wake: (() => void) | undefined;

  constructor(fullAt = 4) {
    this.#fullAt = fullAt;
  }
  get load(): WatchLoad {
    if (this.unread.length === 0) return "idle";
    return this.unread.length >= this.#fullAt ? "full" : "busy";
  }
  onIdle(wake: () => void): void {
    assert.equal(this.#wake, undefined, "waits twice");
    this.#wake = wake;
    this.take(0);
  }
  batch(batch: WatchBatch): void {
    assert.equal(this.ended, undefined, "gets events after its end");
    assert.notEqual(this.load, "full", "gets events while it is full");
    this.batches.push(batch);
    for (const { type, encoded } of batch.events) {
      const { name = "", labels } = encoded.object.metadata;
      this.unread.push({ type, name, color: labels?.color ?? "", revision: encoded.revision });
    }
    this.mostUnread = Math.max(this.mostUnread, this.unread.length);
  }
  stateSent(revision: number): void {
    this.unread.push({ type: "STATE", name: "", color: "", revision });
  }
  bookmark(revision: number): void {
    this.unread.push({ type: "BOOKMARK", name: "", color: "", revision });
  }
  end(error?: Error): void {
    assert.equal(this.ended, undefined, "ends twice");
    this.ended = error ?? "quietly";
  }
  takeAll(): void {
    this.take(this.unread.length);
  }
  take(count: number): void {
    this.read.push(...this.unread.splice(0, count));
    const wake = this.#wake;
    if (!wake || this.load !== "idle") return;
    this.#wake = undefined;
    wake();
  }
}

/** Lets the readers read repeatedly until the condition holds. */
async function readUntil({ clock }: World, isDone: () => boolean, read: () => void): Promise<void> {
  for (let round = 0; !isDone(); round++) {
    assert(round < 5000, "a watcher never catches up");
    read();
    await clock.settle();
  }
}

class World {
  readonly clock: VirtualClock = createVirtualClock();
  readonly store: Store = openMemoryStore({ clock: this.clock });
  readonly log: { revision: number; key: string; color: string | undefined }[] = [];
  cuts = 0;
  readonly cache: WatchCache<Widget>;

  constructor(maxEvents = 8192) {
    this.cache = new WatchCache(Widget, {
      store: this.store,
      clock: this.clock,
      log: silentLog,
      traceOf: () => undefined,
      takeWritten: () => undefined,
      watcherCut: () => void this.cuts++,
      ringLimits: { maxEvents, maxBytes: 1 << 20 },
    });
  }
  async put(name: string, color: string, padding = 0): Promise<void> {
    const metadata = { name, namespace: namespaceOf(name), labels: { color }, annotations: { a: "x".repeat(padding) } };
    const widget = build(Widget, { metadata });
    const value = (revision: number) => toStoredBytes(codecOf(Widget), widget, revision);
    await this.#commit(name, color, value);
  }
  async remove(name: string): Promise<void> {
    if (this.stateAt(this.store.revision).has(name)) await this.#commit(name, undefined, undefined);
  }
  /** A change of another kind: the cache gets a newer revision, but no event. */
  async putOther(): Promise<void> {
    await this.store.commit([{ key: "/registry/others/x", value: () => new Uint8Array(1) }]);
  }
  async #commit(name: string, color: string | undefined, value: ((revision: number) => Uint8Array) | undefined) {
    const key = `/registry/${Widget.storagePrefix}/${namespaceOf(name)}/${name}`;
    const result = await this.store.commit([{ key, value }]);
    assert(result.ok);
    this.log.push({ revision: result.revision, key: name, color });
  }
  stateAt(revision: number): Map<string, { color: string; revision: number }> {
    const state = new Map<string, { color: string; revision: number }>();
    for (const { key, color, revision: at } of this.log) {
      if (at > revision) break;
      if (color === undefined) state.delete(key);
      else state.set(key, { color, revision: at });
    }
    return state;
  }
}

const namespaceOf = (name: string): string => (name < "c" ? "one" : "two");

const selections = {
  all: { selection: select(Widget, ""), matches: () => true },
  one: { selection: select(Widget, "one"), matches: (name: string) => namespaceOf(name) === "one" },
  red: {
    selection: select(Widget, "", { labelSelector: "color=red" }),
    matches: (_: string, color: string) => color === "red",
  },
  named: {
    selection: select(Widget, "one", { fieldSelector: "metadata.name=a", labelSelector: "color!=blue" }),
    matches: (name: string, color: string) => name === "a" && color !== "blue",
  },
} as const;
type SelectionName = keyof typeof selections;

/** What a watcher of this selection must see from there on, according to the rules alone. */
function expected(world: World, name: SelectionName, from: { revision: number; withState: boolean }): Line[] {
  const { matches } = selections[name];
  const lines: Line[] = [];
  const state = world.stateAt(from.revision);
  if (from.withState) {
    const names = [...state.keys()].sort();
    for (const key of names) {
      const { color, revision } = state.get(key) ?? { color: "", revision: 0 };
      if (matches(key, color)) lines.push({ type: "ADDED", name: key, color, revision });
    }
    lines.push({ type: "STATE", name: "", color: "", revision: from.revision });
  }
  for (const { key, color, revision } of world.log) {
    if (revision <= from.revision) continue;
    const old = state.get(key)?.color;
    const was = old !== undefined && matches(key, old);
    const is = color !== undefined && matches(key, color);
    if (color === undefined) state.delete(key);
    else state.set(key, { color, revision });
    if (is) lines.push({ type: was ? "MODIFIED" : "ADDED", name: key, color, revision });
    else if (was) lines.push({ type: "DELETED", name: key, color: old, revision });
  }
  return lines;
}

interface Watching {
  readonly selection: SelectionName;
  readonly from: { revision: number; withState: boolean };
  readonly reader: SlowReader;
  readonly watch: CacheWatch;
  isStopped: boolean;
}

/** Checks that each watcher has seen what it must: everything, or a prefix and then that history is gone. */
class Watchers {
  readonly #world: World;
  readonly #watchers: Watching[] = [];

  constructor(world: World) {
    this.#world = world;
  }
  open(selection: SelectionName, from: number | "state"): void {
    const { cache } = this.#world;
    const reader = new SlowReader();
    const start = { revision: from === "state" ? cache.revision : from, withState: from === "state" };
    try {
      const watch = cache.watch(selections[selection].selection, from, reader);
      this.#watchers.push({ selection, from: start, reader, watch, isStopped: false });
    } catch (error) {
      assert(isExpired(error) && start.revision < this.#world.store.compactedRevision);
    }
  }
  read(at: number, count: number): void {
    this.#at(at)?.reader.take(count);
  }
  resume(at: number): void {
    const watching = this.#at(at);
    if (!watching || watching.reader.ended) return;
    watching.watch.stop();
    watching.isStopped = true;
    const { reader, from, selection } = watching;
    // A watch cannot resume from events of the initial state before all of it was read.
    const isComplete = !from.withState || reader.read.some(({ type }) => type === "STATE");
    const last = Math.max(from.revision, ...reader.read.map(({ revision }) => revision));
    this.open(selection, isComplete ? last : "state");
  }
  async finish(): Promise<void> {
    const isDone = () => !this.#watchers.some(isLagging(this.#world));
    await readUntil(this.#world, isDone, () => {
      for (const { reader } of this.#watchers) reader.takeAll();
    });
    for (const watching of this.#watchers) this.#check(watching);
    assert.equal(this.#world.cache.laggingWatchers, 0);
  }
  #check({ reader, selection, from, isStopped }: Watching): void {
    const seen = [...reader.read, ...reader.unread].filter(({ type }) => type !== "BOOKMARK");
    const wanted = expected(this.#world, selection, from);
    if (!isStopped && !reader.ended) return assert.deepEqual(seen, wanted);
    assert.deepEqual(seen, wanted.slice(0, seen.length));
    if (isStopped) return;
    assert(isExpired(reader.ended), String(reader.ended));
    const last = Math.max(from.revision, ...seen.map(({ revision }) => revision));
    assert(last < this.#world.store.compactedRevision, "ended although history is there");
  }
  #at(index: number): Watching | undefined {
    return this.#watchers[index % Math.max(this.#watchers.length, 1)];
  }
}

const isLagging =
  ({ cache }: World) =>
  ({ reader, watch, isStopped }: Watching): boolean =>
    !isStopped && !reader.ended && (reader.unread.length > 0 || (watch.revision ?? 0) < cache.revision);

type Step = (world: World, watchers: Watchers) => void | Promise<void>;
const name = fc.constantFrom("a", "b", "c", "d");
const color = fc.constantFrom("red", "blue");
const index = fc.nat({ max: 20 });
const selectionName = fc.constantFrom(...(Object.keys(selections) as SelectionName[]));

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.tuple(name, color).map(
      ([n, c]): Step =>
        (world) =>
          world.put(n, c),
    ),
  },
  {
    weight: 2,
    arbitrary: name.map(
      (n): Step =>
        (world) =>
          world.remove(n),
    ),
  },
  { weight: 2, arbitrary: fc.constant<Step>((world) => world.putOther()) },
  {
    weight: 1,
    arbitrary: fc.tuple(fc.nat({ max: 30 }), name, color).map(
      ([count, n, c]): Step =>
        async (world) => {
          for (let at = 0; at < count; at++) await world.put(n, at % 3 ? c : "red");
        },
    ),
  },
  {
    weight: 2,
    arbitrary: selectionName.map(
      (s): Step =>
        (_, watchers) =>
          watchers.open(s, "state"),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(selectionName, fc.nat({ max: 40 })).map(
      ([s, back]): Step =>
        ({ cache }, watchers) =>
          watchers.open(s, Math.max(cache.revision - back, 1)),
    ),
  },
  {
    weight: 6,
    arbitrary: fc.tuple(index, fc.nat({ max: 8 })).map(
      ([at, n]): Step =>
        (_, watchers) =>
          watchers.read(at, n),
    ),
  },
  {
    weight: 1,
    arbitrary: index.map(
      (at): Step =>
        (_, watchers) =>
          watchers.resume(at),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.nat({ max: 60 }).map(
      (back): Step =>
        ({ store }) =>
          store.compact(Math.max(store.revision - back, store.compactedRevision)),
    ),
  },
  { weight: 4, arbitrary: fc.constant<Step>(({ clock }) => clock.settle()) },
  { weight: 1, arbitrary: fc.constant<Step>(({ clock }) => clock.advance(5000)) },
);

suite("WatchFeed", () => {
  test("every watcher sees exactly its events, at any pace, or that history is gone", async () => {
    const run = fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 120 }), async (steps) => {
      const world = new World(6);
      await world.cache.synced();
      const watchers = new Watchers(world);
      for (const each of steps) await each(world, watchers);
      await watchers.finish();
    });
    await fc.assert(run, { numRuns: 400 });
  });

  test("a watcher can start after the last event of its kind, when other kinds have changed since", async () => {
    const world = new World();
    await world.cache.synced();
    await world.put("a", "red");
    const listed = world.cache.revision;
    await world.putOther();
    await world.clock.settle();

    const reader = new SlowReader();
    const watch = world.cache.watch(selections.all.selection, listed, reader);
    await world.put("a", "blue");

    assert.equal(reader.ended, undefined);
    assert.deepEqual(reader.unread, expected(world, "all", { revision: listed, withState: false }));
    assert.equal(watch.revision, world.cache.revision);
  });

  test("a full watcher gets nothing, and later everything, in chunks", async () => {
    const world = new World();
    await world.cache.synced();
    const reader = new SlowReader();
    const watch = world.cache.watch(selections.red.selection, world.cache.revision, reader);
    for (let n = 0; n < 2000; n++) await world.put("a", n % 4 ? "red" : "blue", 1000);
    assert.deepEqual([reader.unread.length, world.cache.laggingWatchers], [4, 1]);

    const isDone = () => watch.revision === world.cache.revision && reader.unread.length === 0;
    await readUntil(world, isDone, () => reader.take(1));

    const wanted = expected(world, "red", { revision: 1, withState: false });
    assert.deepEqual(reader.read, wanted);
    assert(reader.mostUnread <= 256, `${reader.mostUnread} events at once`);
    assert.equal(world.cache.laggingWatchers, 0);
    const { pending } = world.clock;
    watch.stop();
    assert.equal(world.clock.pending, pending - 1, "bookmarks had a timer, and nothing else had one");
  });

  test("the state is sent in chunks, as it was when the watch began", async () => {
    const world = new World();
    await world.cache.synced();
    for (let n = 0; n < 1000; n++) await world.put(`b${n}`, "red", 1000);
    const from = { revision: world.cache.revision, withState: true };
    const reader = new SlowReader();

    const watch = world.cache.watch(selections.all.selection, "state", reader);
    for (let n = 0; n < 1000; n++) await world.put(`b${n}`, "blue", 1000);
    assert.equal(watch.revision, undefined, "there is no revision to resume from yet");
    await readUntil(
      world,
      () => reader.read.length >= 2001,
      () => reader.takeAll(),
    );

    assert.deepEqual(reader.read, expected(world, "all", from));
    assert(reader.mostUnread <= 256, `${reader.mostUnread} events at once`);
  });

  test("watchers that lag together get the same chunks, which are encoded once", async () => {
    const world = new World();
    await world.cache.synced();
    const readers = Array.from({ length: 5 }, () => new SlowReader());
    for (const reader of readers) world.cache.watch(selections.one.selection, world.cache.revision, reader);
    for (let n = 0; n < 1000; n++) await world.put("a", "red", 1000);

    await readUntil(
      world,
      () => world.cache.laggingWatchers === 0,
      () => {
        for (const reader of readers) reader.takeAll();
      },
    );

    const [first, ...others] = readers;
    for (const { batches } of others) assert(batches.every((batch, at) => batch === first?.batches[at]));
    const chunks = first?.batches.filter(({ events }) => events.length > 1) ?? [];
    assert(chunks.length > 3);
    let made = 0;
    const bytes = chunks.map((chunk) => chunk.bytes("test", () => new Uint8Array(++made)));
    assert.deepEqual(
      chunks.map((chunk) => chunk.bytes("test", () => assert.fail("it is encoded twice"))),
      bytes,
    );
  });

  test("watchers that lag together read the store once for each chunk", async () => {
    const world = new World(6);
    await world.cache.synced();
    for (let n = 0; n < 100; n++) await world.put("a", "red");
    const read = world.store.changes.bind(world.store);
    const asked: number[] = [];
    world.store.changes = (prefix, options) => {
      asked.push(options.after);
      return read(prefix, options);
    };
    const readers = Array.from({ length: 20 }, () => new SlowReader());

    const watches = readers.map((reader) => world.cache.watch(selections.all.selection, 1, reader));
    const isDone = () => watches.every(({ revision }) => revision === world.cache.revision);
    await readUntil(world, isDone, () => {
      for (const reader of readers) reader.takeAll();
    });

    assert(asked.length > 0);
    assert.deepEqual(asked, [...new Set(asked)]);
  });

  test("a watcher that never reads is ended once its history is gone, and holds no memory before", async () => {
    const world = new World(4);
    await world.cache.synced();
    const stalled = new SlowReader();
    world.cache.watch(selections.all.selection, "state", stalled);
    for (let n = 0; n < 100; n++) await world.put("a", "red");
    await world.clock.advance(60_000);
    assert.equal(stalled.ended, undefined);

    await world.store.compact(world.store.revision - 2);
    await world.clock.advance(5000);

    assert(isExpired(stalled.ended));
    assert.deepEqual([world.cuts, world.cache.laggingWatchers], [1, 0]);
    assert(stalled.unread.length <= 4);
  });

  test("a lagging watcher gets bookmarks", async () => {
    const world = new World();
    await world.cache.synced();
    const reader = new SlowReader();
    world.cache.watch(selections.red.selection, world.cache.revision, reader);
    for (let n = 0; n < 8; n++) await world.put("a", "red");
    const lagsFrom = reader.unread.at(-1)?.revision ?? 0;
    for (let n = 0; n < 600; n++) await world.put("b", "blue");

    await world.clock.advance(60_000);
    reader.takeAll();
    await world.clock.settle();

    const bookmarks = [...reader.read, ...reader.unread].filter(({ type }) => type === "BOOKMARK");
    assert.equal(bookmarks.length, 1);
    assert(bookmarks.every(({ revision }) => revision > lagsFrom && revision <= world.cache.revision));
  });
});
