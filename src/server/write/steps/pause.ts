import { inTurns, OneByOne, type Steps, soonOrInSlices } from "#lib/async/turns.ts";
import { longBytes } from "#server/input/body.ts";
import { type EncodedObject } from "#server/objects/encode-once.ts";
import { type Write } from "../write.ts";

const longSteps = new OneByOne();
/**
 * Waits between two expensive steps of a write, if what was sent or what is stored is long: each step takes tens of
 * milliseconds for the longest objects. Of all long writes together, one step runs in a turn of the event loop.
 */
export const longTurn = (): Promise<void> => longSteps.turn();

export function isLong({ context }: Pick<Write, "context">, current?: EncodedObject): boolean {
  const sent = context.request.body?.length ?? 0;
  return sent >= longBytes || (current !== undefined && current.storedBytes >= longBytes);
}

/** Runs the steps with pauses between them if what was sent or what is stored is long, and otherwise when they take long. */
export const runSteps = <R>(steps: Steps<R>, write: Pick<Write, "context">, current?: EncodedObject): R | Promise<R> =>
  isLong(write, current) ? inTurns(steps, longTurn) : soonOrInSlices(steps);
