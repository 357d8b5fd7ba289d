import type { SeededRandom } from "#lib/data/random.ts";
import type { StoreState } from "#store/memory.ts";
import type { Store } from "#store/store.ts";

/** What the bootstrap of a cluster leaves: its objects, and how far it got with the random numbers. */
export interface PreparedState {
  readonly store: StoreState;
  readonly random: number;
}

/**
 * The bootstrap writes the same two hundred objects for every cluster with the same seed and start, so later clusters of
 * a process begin with those of the first.
 */
const prepared = new Map<string, PreparedState>();
const maxPrepared = 8;

export const preparedState = (key: string): PreparedState | undefined => prepared.get(key);

/** Keeps the state for later clusters. Like theirs, the history of this one begins here. */
export async function keepPrepared(key: string, store: Store, random: SeededRandom): Promise<void> {
  const { entries, revision } = await store.list("/registry/");
  const state: PreparedState = { store: { entries, revision }, random: random.save() };
  await store.compact(revision);
  if (prepared.size >= maxPrepared) prepared.clear();
  prepared.set(key, state);
}
