import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, suite, test } from "node:test";
import { nextTurn } from "#lib/async/turns.ts";
import { silentLog } from "#lib/process/log.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { openSqliteStore, type SqliteStoreOptions } from "./sqlite.ts";
import { bytes, collect, commit, keysOf, put, storeSuite, text } from "./store.suite.ts";
import { CompactedError, type Store, StoreUnavailableError } from "./store.ts";

const root = mkdtempSync(join(tmpdir(), "orlop-store-"));
after(() => rmSync(root, { recursive: true, force: true }));
let directories = 0;
const newDirectory = (): string => join(root, String(directories++));

const open = (dataDir: string, options: Partial<SqliteStoreOptions> = {}): Promise<Store> =>
  openSqliteStore(dataDir, { clock: createVirtualClock(), log: silentLog, ...options });

storeSuite("SqliteStore", (clock) => open(newDirectory(), { clock }));

suite("a SqliteStore that is opened again", () => {
  test("has all keys at the same revisions", async () => {
    const dataDir = newDirectory();
    const first = await open(dataDir);
    for (let n = 0; n < 50; n++) await put(first, `/k/${n % 20}`, `${n}`);
    await commit(first, [{ key: "/k/3", value: undefined }]);
    const before = await first.list("/");
    await first[Symbol.asyncDispose]();

    await using second = await open(dataDir);

    assert.deepEqual(await second.list("/"), before);
    assert.equal(second.revision, first.revision);
    assert.equal(await put(second, "/k/3", "again", 0), before.revision + 1);
  });

  test("cannot be read by other users, whatever the directory's mode is", async () => {
    const dataDir = newDirectory();
    mkdirSync(dataDir, { mode: 0o755 });
    await using store = await open(dataDir);
    await put(store, "/secret", "s");

    const modes = ["state.db", "state.db-wal"].map((name) => statSync(join(dataDir, name)).mode & 0o777);

    assert.deepEqual(modes, [0o600, 0o600]);
  });

  test("continues watches and reads of old revisions", async () => {
    const dataDir = newDirectory();
    const first = await open(dataDir);
    const from = await put(first, "/a", "1");
    await put(first, "/a", "2");
    await commit(first, [{ key: "/a", value: undefined }]);
    await first[Symbol.asyncDispose]();

    await using second = await open(dataDir);
    const seen = collect(second, "/", from);
    await seen.upTo(await put(second, "/a", "3"));

    assert.deepEqual(
      seen.events.map(({ value, previous }) => [text(value), text(previous?.value)]),
      [
        ["2", "1"],
        [undefined, "2"],
        ["3", undefined],
      ],
    );
    assert.equal(text((await second.get("/a", from))?.value), "1");
  });

  test("does not reuse revisions, even if everything was deleted and compacted", async () => {
    const dataDir = newDirectory();
    const first = await open(dataDir);
    const old = await put(first, "/a", "1");
    const last = await commit(first, [{ key: "/a", value: undefined }]);
    await first.compact(last);
    await first[Symbol.asyncDispose]();

    await using second = await open(dataDir);

    assert.equal(second.revision, last);
    assert.equal(second.compactedRevision, last);
    await assert.rejects(second.get("/a", old), CompactedError);
    assert.equal(await put(second, "/a", "2", 0), last + 1);
  });

  test("still expires keys", async () => {
    const dataDir = newDirectory();
    const clock = createVirtualClock();
    const first = await open(dataDir, { clock });
    await commit(first, [{ key: "/a", value: bytes("1"), ttlSeconds: 60 }]);
    await commit(first, [{ key: "/b", value: bytes("1"), ttlSeconds: 60 }]);
    await put(first, "/b", "2");
    await first[Symbol.asyncDispose]();
    await clock.advance(120_000);

    await using second = await open(dataDir, { clock });
    const seen = collect(second, "/", second.revision);
    await clock.advance(5000);
    await seen.upTo(first.revision + 1);

    assert.deepEqual(await keysOf(second, "/"), ["/b"]);
  });

  test("has the commits that were pending when it was closed", async () => {
    const dataDir = newDirectory();
    const first = await open(dataDir);
    const writes = Array.from({ length: 500 }, (_, n) => put(first, `/${n}`, "1"));
    await first[Symbol.asyncDispose]();
    await Promise.all(writes);
    await assert.rejects(put(first, "/late", "1"), /closed/);

    await using second = await open(dataDir);

    assert.equal((await second.list("/")).entries.length, 500);
  });
});

suite("the file of a SqliteStore", () => {
  test("stays small while values change, and an idle store sets no timers", async () => {
    const dataDir = newDirectory();
    const clock = createVirtualClock();
    await using store = await open(dataDir, { clock });
    const value = new Uint8Array(20_000).fill(1);
    const sizeOf = (name: string) => statSync(join(dataDir, name)).size;
    for (let round = 0; round < 30; round++) {
      await Promise.all(Array.from({ length: 30 }, (_, n) => commit(store, [{ key: `/${n}`, value }])));
    }
    assert(sizeOf("state.db") + sizeOf("state.db-wal") > 15_000_000);

    await clock.advance(6 * 60_000);
    await eventually(async () => {
      await clock.advance(10_000);
      return clock.pending === 0 && sizeOf("state.db") < 2_000_000 && sizeOf("state.db-wal") === 0;
    });

    assert.equal((await store.list("/")).entries.length, 30);
    assert.equal(store.compactedRevision, store.revision);
  });

  test("does not grow beyond the history while values change continuously", async () => {
    const dataDir = newDirectory();
    const limits = { maxEvents: 200, maxBytes: 1 << 20, maxAgeMs: 300_000 };
    await using store = await open(dataDir, { limits });
    const value = new Uint8Array(5000).fill(1);
    for (let round = 0; round < 200; round++) {
      await Promise.all(Array.from({ length: 20 }, (_, n) => commit(store, [{ key: `/${n}`, value }])));
    }

    assert(statSync(join(dataDir, "state.db")).size < 4_000_000);
    assert(store.revision - store.compactedRevision <= limits.maxEvents);
  });
});

suite("a SqliteStore without space", () => {
  test("refuses commits that do not fit and those that depend on them, and keeps durable ones", async () => {
    const dataDir = newDirectory();
    const first = await open(dataDir, { maxPages: 40 });
    const value = new Uint8Array(10_000).fill(1);
    for (let n = 0; n < 10; n++) await commit(first, [{ key: `/${n}`, value }]);
    const before = await first.list("/");
    const seen = collect(first, "/", first.revision);

    const tooMuch = first.commit([{ key: "/0", value: new Uint8Array(1 << 20) }]);
    const builtOn = first.commit([{ key: "/0", value, expected: before.revision + 1 }]);
    const refused = first.commit([{ key: "/0", value, expected: 1 }]);
    for (const attempt of [tooMuch, builtOn, refused]) {
      await assert.rejects(attempt, (error: Error) => {
        assert(error instanceof StoreUnavailableError);
        assert.match(error.message, /state\.db: no space left on device: free some space/);
        return true;
      });
    }
    assert.deepEqual(await first.list("/"), before);
    const small = await put(first, "/0", "fits", before.entries[0]?.revision);
    await seen.upTo(small);
    await first[Symbol.asyncDispose]();

    assert(small > before.revision);
    assert.equal(seen.events.length, 1);
    await using second = await open(dataDir);
    assert.equal(second.revision, small);
    assert.equal(text((await second.get("/0"))?.value), "fits");
  });

  test("can be opened and read", async (t) => {
    const dataDir = newDirectory();
    if (!mountSmallDisk(dataDir)) return t.skip("needs root to mount a small disk");
    try {
      const first = await open(dataDir);
      await put(first, "/a", "1");
      assert.throws(() => writeFileSync(join(dataDir, "ballast"), new Uint8Array(8 << 20)), /ENOSPC/);
      await first[Symbol.asyncDispose]();
      await using second = await open(dataDir);
      assert.equal(text((await second.get("/a"))?.value), "1");
      await assert.rejects(put(second, "/a", "x".repeat(100_000)), StoreUnavailableError);
      assert.equal(text((await second.get("/a"))?.value), "1");
    } finally {
      execFileSync("umount", [dataDir]);
    }
  });

  test("recovers by itself when there is space again", async (t) => {
    const dataDir = newDirectory();
    if (!mountSmallDisk(dataDir)) return t.skip("needs root to mount a small disk");
    try {
      const ballast = join(dataDir, "ballast");
      writeFileSync(ballast, new Uint8Array(2 << 20));
      const acknowledged = await fillDisk(dataDir, ballast);

      await using again = await open(dataDir);

      for (const [key, revision] of acknowledged) assert.equal((await again.get(key))?.revision, revision);
      assert.equal((await again.list("/k/")).entries.length, acknowledged.size);
    } finally {
      execFileSync("umount", [dataDir]);
    }
  });
});

/** Writes until the disk is full, and again once it is not; returns what was acknowledged. */
async function fillDisk(dataDir: string, ballast: string): Promise<Map<string, number>> {
  const acknowledged = new Map<string, number>();
  const value = new Uint8Array(20_000).fill(1);
  await using store = await open(dataDir);
  const write = async (n: number) => {
    const key = `/k/${n}`;
    acknowledged.set(key, await commit(store, [{ key, value }]));
  };
  let failure: unknown;
  for (let n = 0; !failure; n += 10) {
    const answers = await Promise.allSettled(Array.from({ length: 10 }, (_, k) => write(n + k)));
    failure = answers.find((answer) => answer.status === "rejected")?.reason;
  }
  assert(failure instanceof StoreUnavailableError);
  assert.match(failure.message, /no space left on device/);
  const reached = store.revision;
  await assert.rejects(commit(store, [{ key: "/k/more", value: new Uint8Array(500_000) }]), StoreUnavailableError);
  assert.equal(store.revision, reached);
  assert.equal((await store.list("/k/")).entries.length, acknowledged.size);

  rmSync(ballast);
  await write(100_000);
  assert(store.revision > reached);
  return acknowledged;
}

function mountSmallDisk(path: string): boolean {
  mkdirSync(path, { recursive: true });
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=6m", "tmpfs", path], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

suite("openSqliteStore() reports", () => {
  test("that another process uses the directory", async () => {
    const dataDir = newDirectory();
    {
      await using _store = await open(dataDir);
      await assert.rejects(open(dataDir), {
        message: `data directory ${dataDir} is in use by process ${process.pid}: stop it or choose another with --data-dir`,
      });
      const script = `
        import { openSqliteStore } from ${JSON.stringify(import.meta.resolve("./sqlite.ts"))};
        await openSqliteStore(${JSON.stringify(dataDir)}, {}).catch((error) => console.log(error.message));
      `;
      const said = execFileSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" });
      assert.match(said, new RegExp(`is in use by process ${process.pid}: stop it`));
    }
    await using _again = await open(dataDir);
  });

  test("that the file is damaged", async () => {
    const dataDir = newDirectory();
    const store = await open(dataDir);
    await Promise.all(Array.from({ length: 100 }, (_, n) => put(store, `/${n}`, "x".repeat(2000))));
    await store[Symbol.asyncDispose]();
    const file = join(dataDir, "state.db");
    const content = readFileSync(file);
    writeFileSync(file, content.fill(0xa5, 8192 * 5, 8192 * 9));
    await assert.rejects(open(dataDir), /state\.db is damaged \(.+\): restore it from a backup/);

    writeFileSync(file, "this is not a database, but it is long enough to be read  ".repeat(100));
    await assert.rejects(open(dataDir), /state\.db is damaged \(file is not a database\)/);
  });

  test("that the file belongs to another program", async () => {
    const dataDir = newDirectory();
    mkdirSync(dataDir);
    const foreign = new DatabaseSync(join(dataDir, "state.db"));
    foreign.exec("CREATE TABLE songs (title TEXT)");
    foreign.close();

    await assert.rejects(open(dataDir), /state\.db belongs to another program: move it away or choose another/);
  });

  test("that the file was written by a newer version", async () => {
    const dataDir = newDirectory();
    await (await open(dataDir))[Symbol.asyncDispose]();
    const file = new DatabaseSync(join(dataDir, "state.db"));
    file.exec("PRAGMA user_version = 99");
    file.close();

    await assert.rejects(
      open(dataDir),
      /was written by a newer Orlop \(format 99\): upgrade Orlop or choose another data/,
    );
  });

  test("that the directory cannot be made", async () => {
    const blocked = newDirectory();
    writeFileSync(blocked, "a file");

    await assert.rejects(open(blocked), /cannot make data directory .* \(EEXIST.*\): choose another/);
  });
});

/** Polls until the condition holds; the test's timeout is the only limit. */
async function eventually(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await nextTurn();
}
