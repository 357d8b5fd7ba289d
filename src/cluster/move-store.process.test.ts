import assert from "node:assert/strict";
import {
  existsSync,
  lstatSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { systemClock } from "#lib/async/clock.ts";
import { silentLog } from "#lib/process/log.ts";
import { openSqliteStore } from "#store/sqlite.ts";
import { type Store } from "#store/store.ts";
import { startEtcd } from "#testing/peers/etcd.ts";
import { backUpStopped, moveToEtcd, moveToSqlite, restore } from "./move-store.ts";
import { openEtcd } from "./open-store.ts";

const deps = { clock: systemClock, log: silentLog };
const root = mkdtempSync(join(tmpdir(), "orlop-move-"));
after(() => rmSync(root, { recursive: true, force: true }));
let names = 0;
const newPath = (): string => join(root, String(names++));

const stored = (name: string, version: string) =>
  Buffer.from(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{${version}"name":"${name}"},"data":{"é":"1"}}`);

/** A directory with some objects, one of which was changed and one deleted. */
async function filled(): Promise<{ dataDir: string; revision: number }> {
  const dataDir = newPath();
  await using store = await openSqliteStore(dataDir, deps);
  const write = (name: string, isGone = false) =>
    store.commit([
      {
        key: `/registry/configmaps/default/${name}`,
        value: isGone ? undefined : (revision) => stored(name, `"resourceVersion":"${revision}",`),
      },
    ]);
  for (let n = 0; n < 250; n++) await write(`m-${n}`);
  await write("m-7");
  await write("m-8", true);
  await store.commit([{ key: "/registry/events/default/e", value: Buffer.from("{}"), ttlSeconds: 3600 }]);
  await store.commit([{ key: "/registry/secrets/default/s", value: Buffer.from("k8s:enc:\0\xff", "latin1") }]);
  return { dataDir, revision: store.revision };
}

const stateOf = async (store: Store) =>
  (await store.list("/registry/")).entries.map(({ key, value, revision, created }) => {
    return { key, value: Buffer.from(value).toString("latin1"), revision, created };
  });

test("a restored backup has every object as it was, and continues far after its revision", async () => {
  const { dataDir, revision } = await filled();
  const [file, copy] = [newPath(), newPath()];

  const saved = await backUpStopped(dataDir, file, deps);
  const restored = await restore(file, copy, deps);

  assert.deepEqual(saved, { entries: 251, revision });
  assert.equal(statSync(file).mode & 0o777, 0o600);
  await using before = await openSqliteStore(dataDir, deps);
  await using now = await openSqliteStore(copy, deps);
  assert.deepEqual(await stateOf(now), await stateOf(before));
  assert.equal(now.revision, restored.revision);
  assert(now.revision >= revision + 1_000_000_000);
  assert.equal(now.compactedRevision, now.revision, "a watch from before must start over");
});

const damages: readonly { name: string; damage: (text: string) => string; why: RegExp }[] = [
  { name: "a changed byte", damage: (text) => text.replace('"created":5', '"created":6'), why: /checksum differs/ },
  { name: "a missing line", damage: (text) => text.split("\n").toSpliced(9, 1).join("\n"), why: /checksum differs/ },
  { name: "no end", damage: (text) => text.slice(0, text.lastIndexOf('{"entries"')), why: /incomplete/ },
  { name: "a line cut short", damage: (text) => text.slice(0, 5000), why: /damaged/ },
  { name: "more after the end", damage: (text) => `${text}{}\n`, why: /continues after its end/ },
  { name: "a newer format", damage: (text) => text.replace('Backup":1', 'Backup":2'), why: /newer Orlop/ },
  { name: "other content", damage: () => "hello\n", why: /not a backup/ },
  { name: "nothing", damage: () => "", why: /not a backup/ },
];
test("a backup that is damaged is refused, and nothing is restored", async () => {
  const { dataDir } = await filled();
  const file = newPath();
  await backUpStopped(dataDir, file, deps);
  const text = readFileSync(file, "utf8");
  for (const { name, damage, why } of damages) {
    const [bad, target] = [newPath(), newPath()];
    writeFileSync(bad, damage(text));

    await assert.rejects(restore(bad, target, deps), why, name);

    assert.throws(() => statSync(join(target, "state.db")), name);
  }
});

test("a directory with a state, in use or not, is not overwritten", async () => {
  const { dataDir } = await filled();
  const file = newPath();
  await backUpStopped(dataDir, file, deps);

  await assert.rejects(restore(file, dataDir, deps), /has the state of a cluster already/);
  await using store = await openSqliteStore(dataDir, deps);
  await assert.rejects(restore(file, dataDir, deps), /has the state of a cluster already/);
  await assert.rejects(backUpStopped(dataDir, file, deps), /in use/);
  assert.equal((await stateOf(store)).length, 251);
});

test("a state moves from SQLite to an empty etcd and back", async () => {
  await using etcd = await startEtcd();
  const settings = { servers: etcd.endpoints, prefix: "/registry" };
  const { dataDir } = await filled();
  const back = newPath();

  const moved = await moveToEtcd(dataDir, settings, deps);
  await assert.rejects(moveToEtcd((await filled()).dataDir, settings, deps), /has keys under \/registry\/ already/);
  await moveToSqlite(back, settings, deps);

  assert.equal(moved.entries, 251);
  await using inEtcd = await openEtcd(settings, deps);
  const state = await stateOf(inEtcd);
  const first = state.find(({ key }) => key === "/registry/configmaps/default/m-0");
  assert.equal(first?.value, stored("m-0", "").toString("latin1"), "without its old revision");
  await using store = await openSqliteStore(back, deps);
  assert.deepEqual(await stateOf(store), state);
  assert.equal(store.revision, inEtcd.revision);
});

test("a backup that cannot be read or written is a fault that the user can mend", async () => {
  const { dataDir } = await filled();
  const isFault = (message: RegExp) => ({ name: "BackupError", message });

  await assert.rejects(restore(newPath(), newPath(), deps), isFault(/^cannot read .* \(ENOENT\): check its name/));
  await assert.rejects(restore(root, newPath(), deps), isFault(/^cannot read .* \(EISDIR\)/));
  await assert.rejects(
    backUpStopped(dataDir, join(newPath(), "a.backup"), deps),
    isFault(/^cannot write .* \(ENOENT\): choose/),
  );
  await assert.rejects(backUpStopped(dataDir, dataDir, deps), isFault(/^cannot write .* \(E[A-Z]+\)/));
  assert(!existsSync(`${dataDir}.new`), "nothing half-written is left behind");
});

test("a backup is not written into a file or link that waits at its temporary name", async () => {
  const { dataDir } = await filled();
  const [file, trap] = [newPath(), newPath()];
  writeFileSync(trap, "");
  symlinkSync(trap, `${file}.new`);

  await backUpStopped(dataDir, file, deps);

  assert.equal(readFileSync(trap, "utf8"), "");
  assert.equal(lstatSync(file).mode & 0o777, 0o600);
  assert(!lstatSync(file).isSymbolicLink());
});
