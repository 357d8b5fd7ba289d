import { realFineNow, realQueueMicrotask, realSetImmediate } from "./real-timers.ts";

/** Resolves in the next turn of the event loop, so that other work runs first. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => realSetImmediate(resolve));

/** Work in steps, with a `yield` wherever it may be interrupted. */
export type Steps<R> = Generator<undefined, R>;

/** Runs all steps now. */
export function atOnce<R>(steps: Steps<R>): R {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/** Runs the steps with a pause after each. */
export async function inTurns<R>(steps: Steps<R>, pause: () => Promise<void> = nextTurn): Promise<R> {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
    await pause();
  }
}

/** Runs as many steps as fit into a turn, then pauses. For many short steps. */
export async function inSlices<R>(steps: Steps<R>): Promise<R> {
  for (;;) {
    const until = endOfSlice();
    do {
      const { done, value } = steps.next();
      if (done) return value;
    } while (realFineNow() < until);
    await nextTurn();
  }
}

/** Runs the steps at once if they fit into a turn; otherwise the rest is run in slices. */
export function soonOrInSlices<R>(steps: Steps<R>): R | Promise<R> {
  const until = endOfSlice();
  do {
    const { done, value } = steps.next();
    if (done) return value;
  } while (realFineNow() < until);
  return nextTurn().then(() => inSlices(steps));
}

/** How long one turn may take before the event loop continues. */
const turnMs = 4;

const endOfSlice = (): number => (undivided > 0 ? Infinity : realFineNow() + turnMs);
let undivided = 0;

/**
 * Slices last until their work is done, until the returned function is called. For simulations that must do the same on
 * every machine: what happens between two slices would depend on how fast it is.
 */
export function undividedSlices(): () => void {
  let isOver = false;
  undivided++;
  return () => {
    if (!isOver) undivided--;
    isOver = true;
  };
}

/** Tells work with steps of very different lengths when it has taken long enough. */
export class Slice {
  #until = endOfSlice();

  get isOver(): boolean {
    return realFineNow() >= this.#until;
  }

  /** Lets other work run; then a new slice begins. */
  async rest(): Promise<void> {
    await nextTurn();
    this.#until = endOfSlice();
  }
}

/**
 * Low-priority work: does a little in every turn of the event loop, first come, first served, so that nothing else
 * waits for it for long.
 */
export class Turns {
  #waiting: (() => void)[] = [];
  #isScheduled = false;

  /** A step must be short and must not throw. */
  add(step: () => void): void {
    this.#waiting.push(step);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    realSetImmediate(() => this.#run());
  }

  #run(): void {
    this.#isScheduled = false;
    const steps = this.#waiting;
    const until = endOfSlice();
    this.#waiting = [];
    let done = 0;
    do steps[done++]?.();
    while (done < steps.length && realFineNow() < until);
    // Steps that did not get their turn go before those that were added meanwhile.
    if (done < steps.length) this.#waiting = steps.slice(done).concat(this.#waiting);
    if (this.#waiting.length > 0) this.#schedule();
  }
}

/** Lets one caller go on in each turn of the event loop, first come, first served. For steps that are long themselves. */
export class OneByOne {
  readonly #waiting: (() => void)[] = [];

  turn(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    if (this.#waiting.push(resolve) === 1) realSetImmediate(() => this.#next());
    return promise;
  }

  #next(): void {
    this.#waiting.shift()?.();
    if (this.#waiting.length > 0) realSetImmediate(() => this.#next());
  }
}

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
