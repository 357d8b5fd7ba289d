import { type Encoded } from "#api/exchange.ts";
import { tooManyRequests } from "#api/status.ts";
import { FairQueue, QueueFullError } from "#lib/async/fair-queue.ts";
import { nextTurn } from "#lib/async/turns.ts";

/** What is made of a list in one turn of the event loop: a few milliseconds' worth. */
const sliceItems = 256;
const sliceBytes = 256 << 10;

/**
 * One long list at a time: what is half made counts for nobody. A list that waits keeps versions of objects in memory
 * which nobody else needs, so nobody may have many of them.
 */
const longLists = new FairQueue(100);

export interface TurnOptions {
  /** Whose list it is: the lists of one owner do not keep those of others waiting. */
  readonly owner?: string;
  /** Resolves when the caller may get another answer; undefined: at once. Throws if the caller is gone. */
  room?(): Promise<void> | undefined;
  /** Lets the event loop go round; for tests. */
  readonly pass?: () => Promise<void>;
}

export interface SliceOptions extends TurnOptions {
  /** It is this list's turn already. */
  readonly hasTurn?: boolean;
}

/** Does the work of a long list when its turn comes and the caller has room for the answer. */
export async function inTurn<R>(
  work: () => Promise<R>,
  { owner = "", room, pass = nextTurn }: TurnOptions,
): Promise<R> {
  for (;;) {
    const turn = await queued(owner, async () => {
      await pass(); // The answer that was made before this one counts by now.
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

/** What `make` makes of a list, slice by slice. All else has its turn between two slices. */
export async function inSlices<R>(
  items: readonly Encoded[],
  make: (slice: readonly Encoded[]) => R,
  options: SliceOptions = {},
): Promise<R[]> {
  if (sliceEnd(items, 0) === items.length) return [make(items)];
  const all = () => makeAll(items, make, options.pass ?? nextTurn);
  return options.hasTurn ? await all() : await inTurn(all, options);
}

async function makeAll<R>(
  items: readonly Encoded[],
  make: (slice: readonly Encoded[]) => R,
  pass: () => Promise<void>,
): Promise<R[]> {
  const made: R[] = [];
  for (let at = 0; at < items.length; ) {
    if (at > 0) await pass();
    const end = sliceEnd(items, at);
    made.push(make(items.slice(at, end)));
    at = end;
  }
  return made;
}

function sliceEnd(items: readonly Encoded[], from: number): number {
  let end = from;
  for (let bytes = 0; end < items.length && end - from < sliceItems && bytes < sliceBytes; end++) {
    bytes += items[end]?.storedBytes ?? 0;
  }
  return end;
}
