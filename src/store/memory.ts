import { type Clock } from "#lib/async/clock.ts";
import { EmbeddedStore } from "./embedded.ts";
import { History, type HistoryLimits } from "./history.ts";
import { type Store } from "./store.ts";

export interface MemoryStoreOptions {
  readonly clock: Clock;
  readonly limits?: HistoryLimits;
}

/** The embedded store without the disk: durable means applied. */
export function openMemoryStore({ clock, limits }: MemoryStoreOptions): Store {
  return new EmbeddedStore({ history: new History(limits), clock });
}
