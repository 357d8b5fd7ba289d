import { inTurns, OneByOne, type Steps, soonOrInSlices } from "#lib/async/turns.ts";
import { longBytes } from "#server/input/body.ts";
import { type EncodedObject } from "#server/objects/encode-once.ts";
import { type Write } from "../write.ts";

/** Of all long writes together, one step runs in a turn: the steps of many writes would hold up everybody else too. */
const longSteps = new OneByOne();
export const longTurn = (): Promise<void> => longSteps.turn();

/**
 * Lets other requests run between two expensive steps of a write, if what was sent or what is stored is long. Each step
 * takes tens of milliseconds for the longest objects, so all of them at once would hold up everybody else.
 */
export const pauseIfLong = (write: Pick<Write, "context">, current?: EncodedObject): Promise<void> | undefined =>
  isLong(write, current) ? longTurn() : undefined;

export function isLong({ context }: Pick<Write, "context">, current?: EncodedObject): boolean {
  const sent = context.request.body?.length ?? 0;
  return sent >= longBytes || (current !== undefined && current.storedBytes >= longBytes);
}

/** Runs the steps with pauses between them if what was sent or what is stored is long, and otherwise when they take long. */
export const runSteps = <R>(steps: Steps<R>, write: Pick<Write, "context">, current?: EncodedObject): R | Promise<R> =>
  isLong(write, current) ? inTurns(steps, longTurn) : soonOrInSlices(steps);
