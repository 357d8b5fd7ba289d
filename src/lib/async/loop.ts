import { realQueueMicrotask, realSetImmediate } from "./real-timers.ts";

/** Where the event loop can be followed; tests have their own. */
export interface Loop {
  /** Calls back in the next turn. */
  afterTurn(callback: () => void): void;
  /** Calls back in this turn, when all promises have settled that can. */
  afterPromises(callback: () => void): void;
}

/** A tick alone would run before the promises that the caller has just settled, if it is not a promise itself. */
const afterPromises = (callback: () => void): void => realQueueMicrotask(() => process.nextTick(callback));

export const nodeLoop: Loop = { afterTurn: realSetImmediate, afterPromises };
