import { allResources } from "#api/all.ts";
import { type Clock } from "#lib/async/clock.ts";
import { makeDirectory } from "#lib/fs/make-directory.ts";
import { type Log } from "#lib/process/log.ts";
import { withoutRevision } from "#server/objects/encode-once.ts";
import { type BackupHead, checkBackup, readBackup, writeBackup } from "#store/backup-file.ts";
import { forgetMoves, hasMoved, markMoved, refuseMoved } from "#store/moved-state.ts";
import { openSqliteStore } from "#store/sqlite.ts";
import { importSqlite, refuseExisting } from "#store/sqlite-import.ts";
import { type Change, type Entry, type Store } from "#store/store.ts";
import { type EtcdSettings, openEtcd } from "./open-store.ts";

export interface MoveDeps {
  readonly clock: Clock;
  readonly log: Log;
}

/** How many entries were moved, and the revision of the state. */
export interface Moved {
  readonly entries: number;
  readonly revision: number;
}

const registry = "/registry/";

/**
 * A state that is older than what clients have seen continues at a much higher revision, so that no revision means two
 * states. Upstream recommends as much for a restored etcd.
 */
const revisionJump = 1_000_000_000;

/** Whether the directory's own state is an old one, because `orlop migrate` has moved it. */
export const hasMovedToEtcd = (dataDir: string): boolean => hasMoved(dataDir, "etcd");

/** Backs up the state of a cluster that is not running. */
export async function backUpStopped(dataDir: string, file: string, { clock, log }: MoveDeps): Promise<Moved> {
  refuseMoved(dataDir, "sqlite");
  await using store = await openSqliteStore(dataDir, { clock, log });
  return await backUp(file, { revision: store.revision, at: new Date(clock.now()).toISOString() }, entriesOf(store));
}

export async function backUp(file: string, head: BackupHead, entries: AsyncIterable<Entry>): Promise<Moved> {
  return { entries: await writeBackup(file, head, entries), revision: head.revision };
}

/** Verifies the file, and makes its state the one of a directory that has none. */
export async function restore(file: string, dataDir: string, { clock }: MoveDeps): Promise<Moved> {
  const { revision } = await checkBackup(file);
  await makeDirectory(dataDir, { mode: 0o700 });
  const after = revision + revisionJump;
  const entries = await importSqlite(dataDir, readBackup(file), { ...importOptions(clock), revision: after });
  forgetMoves(dataDir);
  return { entries, revision: after };
}

/** Copies the state of a stopped cluster into an etcd that has none under its prefix. */
export async function moveToEtcd(dataDir: string, settings: EtcdSettings, deps: MoveDeps): Promise<Moved> {
  refuseMoved(dataDir, "sqlite");
  await using from = await openSqliteStore(dataDir, deps);
  await using to = await openEtcd(settings, deps);
  const present = (await to.list(registry, { limit: 1 })).entries.length;
  if (present > 0) throw new MoveError(`etcd has keys under ${settings.prefix}/ already: choose another --etcd-prefix`);
  let entries = 0;
  for await (const changes of batchesOf(entriesOf(from))) {
    const result = await to.commit(changes);
    if (!result.ok) throw new MoveError(`somebody else writes to etcd: ${result.key} exists`);
    entries += changes.length;
  }
  await to.catchUp();
  const { entries: found } = await to.list(registry);
  if (found.length < entries) throw new MoveError(`etcd has only ${found.length} of ${entries} keys`);
  markMoved(dataDir, "etcd", flagsOf(settings));
  return { entries, revision: to.revision };
}

/** Copies the state in etcd, which no server may use meanwhile, into a directory that has none. */
export async function moveToSqlite(dataDir: string, settings: EtcdSettings, deps: MoveDeps): Promise<Moved> {
  refuseExisting(dataDir);
  await makeDirectory(dataDir, { mode: 0o700 });
  await using from = await openEtcd(settings, deps);
  const { revision } = from;
  const options = { ...importOptions(deps.clock), revision };
  const entries = await importSqlite(dataDir, entriesOf(from, revision), options);
  markMoved(dataDir, "sqlite", "");
  return { entries, revision };
}

const flagsOf = ({ servers, prefix }: EtcdSettings): string =>
  `--etcd-servers ${servers.join(",")}${prefix === registry.slice(0, -1) ? "" : ` --etcd-prefix ${prefix}`}`;

/** The state cannot be moved; the message says why. */
export class MoveError extends Error {
  override readonly name = "MoveError";
}

const importOptions = (clock: Clock) => ({ now: clock.now(), ttlSecondsOf });

/** Kinds that expire get their usual time again. */
function ttlSecondsOf(key: string): number | undefined {
  const kind = allResources.find(({ storagePrefix }) => key.startsWith(`${registry}${storagePrefix}/`));
  return kind?.ttlSeconds;
}

/** In pages, so that other work goes on. */
async function* entriesOf(store: Store, revision = store.revision): AsyncGenerator<Entry, void> {
  for (let after = ""; ; ) {
    const page = await store.list(registry, { revision, limit: 500, ...(after ? { after } : {}) });
    yield* page.entries;
    after = page.entries.at(-1)?.key ?? "";
    if (page.remaining === 0) return;
  }
}

/** etcd allows 128 operations and 1.5 MiB in one transaction by default. */
const batchKeys = 100;
const batchBytes = 512 << 10;

async function* batchesOf(entries: AsyncIterable<Entry>): AsyncGenerator<Change[], void> {
  let batch: Change[] = [];
  let bytes = 0;
  for await (const { key, value } of entries) {
    if (batch.length >= batchKeys || (batch.length > 0 && bytes + value.length > batchBytes)) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    const ttlSeconds = ttlSecondsOf(key);
    batch.push({ key, value: withoutRevision(value), expected: 0, ...(ttlSeconds ? { ttlSeconds } : {}) });
    bytes += value.length;
  }
  if (batch.length > 0) yield batch;
}
