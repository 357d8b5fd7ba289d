import { type Clock } from "#lib/async/clock.ts";
import { EmbeddedStore } from "./embedded.ts";
import { History, type HistoryLimits } from "./history.ts";
import { type Entry, type Store } from "./store.ts";

export interface MemoryStoreOptions {
  readonly clock: Clock;
  readonly limits?: HistoryLimits;
  /** What the store holds at the beginning. */
  readonly from?: StoreState;
}

/** Everything in a store at one revision. */
export interface StoreState {
  readonly revision: number;
  readonly entries: readonly Entry[];
}

/** The embedded store without the disk: durable means applied. */
export function openMemoryStore({ clock, limits, from }: MemoryStoreOptions): Store {
  const history = new History(limits);
  if (!from) return new EmbeddedStore({ history, clock });
  for (const [row, entry] of from.entries.entries()) {
    history.restore({ ...entry, row: row + 1, at: clock.now(), expires: 0 }, from.revision);
  }
  history.restored(from.revision);
  return new EmbeddedStore({ history, clock, lastRow: from.entries.length });
}
