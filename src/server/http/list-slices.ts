import { type Encoded } from "#api/exchange.ts";
import { tooManyRequests } from "#api/status.ts";
import { FairQueue, QueueFullError } from "#lib/async/fair-queue.ts";
import { nextTurn } from "#lib/async/turns.ts";

/** How much of a list is processed in one turn of the event loop: a few milliseconds. */
const sliceItems = 256;
const sliceBytes = 256 << 10;

/**
 * One long list at a time, because a partial result does not count for any caller. A waiting list keeps old versions of
 * objects in memory, so no owner may have many of them.
 */
const longLists = new FairQueue(100);

export interface TurnOptions {
  /** The user: long lists of one user do not delay those of others. */
  readonly owner?: string;
  /** Resolves when the caller may get another response; undefined if it may now. Throws if the caller is gone. */
  room?(): Promise<void> | undefined;
  /** Lets the event loop continue; for tests. */
  readonly pass?: () => Promise<void>;
}

export interface SliceOptions extends TurnOptions {
  /** This list already has its turn. */
  readonly hasTurn?: boolean;
  /** Default: as many as usually take a few milliseconds. */
  readonly mostItems?: number | undefined;
}

/** Does the work of a long list when its turn comes and the caller has room for the answer. */
export async function inTurn<R>(
  work: () => Promise<R>,
  { owner = "", room, pass = nextTurn }: TurnOptions,
): Promise<R> {
  for (;;) {
    const turn = await queued(owner, async () => {
      await pass(); // By now the previous response counts.
      const waiting = room?.();
      return waiting ? { waiting } : { made: await work() };
    });
    if (!turn.waiting) return turn.made;
    await turn.waiting;
  }
}

async function queued<R>(owner: string, work: () => Promise<R>): Promise<R> {
  try {
    return await longLists.run(owner, work);
  } catch (error) {
    if (error instanceof QueueFullError) throw tooManyRequests("too many long lists, please try again later");
    throw error;
  }
}

/** Maps a list with `make`, slice by slice, so that other work runs between two slices. */
export async function inSlices<R>(
  items: readonly Encoded[],
  make: (slice: readonly Encoded[]) => R,
  options: SliceOptions = {},
): Promise<R[]> {
  const { mostItems = sliceItems, pass = nextTurn } = options;
  if (sliceEnd(items, 0, mostItems) === items.length) return [make(items)];
  const all = () => makeAll(items, make, { mostItems, pass });
  // A short list in small slices keeps no more memory than another short list, so it need not wait for long ones.
  const isShort = sliceEnd(items, 0, sliceItems) === items.length;
  return options.hasTurn || isShort ? await all() : await inTurn(all, options);
}

async function makeAll<R>(
  items: readonly Encoded[],
  make: (slice: readonly Encoded[]) => R,
  { mostItems, pass }: { readonly mostItems: number; readonly pass: () => Promise<void> },
): Promise<R[]> {
  const made: R[] = [];
  for (let at = 0; at < items.length; ) {
    if (at > 0) await pass();
    const end = sliceEnd(items, at, mostItems);
    made.push(make(items.slice(at, end)));
    at = end;
  }
  return made;
}

function sliceEnd(items: readonly Encoded[], from: number, mostItems: number): number {
  let end = from;
  for (let bytes = 0; end < items.length && end - from < mostItems && bytes < sliceBytes; end++) {
    bytes += items[end]?.storedBytes ?? 0;
  }
  return end;
}
