import { type Encoded } from "#api/exchange.ts";
import { Semaphore } from "#lib/async/semaphore.ts";
import { nextTurn } from "#lib/async/turns.ts";

/** How much of a list is processed in one turn of the event loop: a few milliseconds. */
const sliceItems = 256;
const sliceBytes = 256 << 10;

/** One long list at a time, because a partial result does not count for any caller. */
const longLists = new Semaphore(1);

export interface SliceOptions {
  /** Resolves when the caller may get another response; undefined if it may now. Throws if the caller is gone. */
  room?(): Promise<void> | undefined;
  /** Lets the event loop continue; for tests. */
  readonly pass?: () => Promise<void>;
}

/** Maps a list with `make`, slice by slice, so that other work runs between two slices. */
export async function inSlices<R>(
  items: readonly Encoded[],
  make: (slice: readonly Encoded[]) => R,
  { room, pass = nextTurn }: SliceOptions = {},
): Promise<R[]> {
  if (sliceEnd(items, 0) === items.length) return [make(items)];
  for (;;) {
    const turn = await longLists.take(async () => {
      await pass(); // By now the previous response counts.
      const waiting = room?.();
      return waiting ? { waiting } : { made: await makeAll(items, make, pass) };
    });
    if (turn.made) return turn.made;
    await turn.waiting;
  }
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
