import { type Clock } from "#lib/async/clock.ts";
import { makeDirectory } from "#lib/fs/make-directory.ts";
import { type Log } from "#lib/process/log.ts";
import { openMemoryStore } from "#store/memory.ts";
import { refuseMoved } from "#store/moved-state.ts";
import { openSqliteStore } from "#store/sqlite.ts";
import { type Store } from "#store/store.ts";

/** Where an etcd is and how to reach it. */
export interface EtcdSettings {
  readonly servers: readonly string[];
  /** Keys start with this instead of `/registry`. */
  readonly prefix: string;
  readonly tls?: { readonly ca?: string; readonly cert?: string; readonly key?: string };
}

export type StoreChoice = "sqlite" | "memory" | EtcdSettings;

export interface OpenStoreOptions {
  readonly store: StoreChoice;
  readonly dataDir: string;
  readonly clock: Clock;
  readonly log: Log;
}

export async function openStore({ store, dataDir, clock, log }: OpenStoreOptions): Promise<Store> {
  if (store !== "memory") refuseMoved(dataDir, store === "sqlite" ? "sqlite" : "etcd");
  if (store === "sqlite") return await openSqliteStore(dataDir, { clock, log });
  await makeDirectory(dataDir, { mode: 0o700 });
  return store === "memory" ? openMemoryStore({ clock }) : await openEtcd(store, { clock, log });
}

export async function openEtcd(
  { servers, prefix, tls }: EtcdSettings,
  base: { readonly clock: Clock; readonly log: Log },
): Promise<Store> {
  const { openEtcdStore } = await import("#store/etcd/etcd-store.ts");
  const keys = { ours: "/registry", theirs: prefix };
  return await openEtcdStore({ ...base, endpoints: servers, keys, ...(tls ? { tls } : {}) });
}
