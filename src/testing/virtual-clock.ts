import { type Clock, sleepOn } from "#lib/async/clock.ts";
import { nextTurn } from "#lib/async/turns.ts";
import { Heap } from "#lib/data/heap.ts";

/** A clock that stands still until a test moves it. */
export interface VirtualClock extends Clock {
  /** The number of pending timers. */
  readonly pending: number;
  /** Fires every timer due within `ms`, in order of time, then of age, and lets promises settle after each. */
  advance(ms: number): Promise<void>;
  /** Lets promises settle without advancing time. */
  settle(): Promise<void>;
  /** Advances from timer to timer until the condition holds; throws if it does not within `limitMs` of virtual time. */
  runUntil(condition: () => boolean | Promise<boolean>, limitMs: number): Promise<void>;
}

interface Timer {
  readonly at: number;
  readonly order: number;
  /** Undefined once it has fired or was cancelled. */
  callback: (() => void) | undefined;
}

/** A round time, so that timestamps in failures are easy to read. */
const defaultStartMs = Date.UTC(2026, 0, 1, 8);

export function createVirtualClock(startMs: number = defaultStartMs): VirtualClock {
  const timers = new Timers(startMs);
  const clock: VirtualClock = {
    now: () => timers.now,
    after: (delayMs, callback) => timers.add(delayMs, callback),
    sleep: (delayMs, signal) => sleepOn(clock, delayMs, signal),
    get pending() {
      return timers.pending;
    },
    settle,
    async advance(ms) {
      const limit = timers.now + wholeMs(ms);
      await settle();
      while (timers.fireNext(limit)) await settle();
      // Somebody else may have advanced it further meanwhile.
      timers.now = Math.max(timers.now, limit);
    },
    async runUntil(condition, limitMs) {
      const limit = timers.now + limitMs;
      await settle();
      while (!(await condition())) {
        const hasFired = timers.fireNext(limit);
        if (!hasFired) throw new Error(`condition did not come true within ${limitMs} ms of virtual time`);
        await settle();
      }
    },
  };
  return clock;
}

/** As on the system's clock, there is no time between two milliseconds, and no timer fires early. */
const wholeMs = (ms: number): number => Math.ceil(Math.max(ms, 0));

/** The current time, and the timers in order of time, then of age. */
class Timers {
  now: number;
  pending = 0;
  #order = 0;
  readonly #heap = new Heap<Timer>((a, b) => a.at < b.at || (a.at === b.at && a.order < b.order));

  constructor(startMs: number) {
    this.now = startMs;
  }

  /** Returns a function that cancels the timer. */
  add(delayMs: number, callback: () => void): () => void {
    const timer: Timer = { at: this.now + wholeMs(delayMs), order: this.#order++, callback };
    this.#heap.push(timer);
    this.pending++;
    return () => {
      if (timer.callback) this.#end(timer);
    };
  }

  /** Moves to the next timer due by `limit` and fires it; false if there is none. */
  fireNext(limit: number): boolean {
    const timer = this.#take(limit);
    if (!timer) return false;
    this.now = Math.max(this.now, timer.at);
    const { callback } = timer;
    this.#end(timer);
    callback?.();
    return true;
  }

  #take(limit: number): Timer | undefined {
    for (;;) {
      const next = this.#heap.peek();
      if (!next || next.at > limit) return undefined;
      this.#heap.pop();
      if (next.callback) return next;
    }
  }

  #end(timer: Timer): void {
    timer.callback = undefined;
    this.pending--;
  }
}

/** Several turns of the event loop: what one turn resolves may post the next. */
const fewestTurns = 4;
/** Something outside the cluster may ask for turns for ever. */
const mostTurns = 1000;
/** How many clocks wait for a turn, which is no work. */
let settling = 0;

/**
 * Waits until nobody has asked for another turn. Work goes on in slices of real time; on a slow machine it takes more turns,
 * and no virtual time may pass meanwhile, or the same seed would not do the same everywhere.
 */
async function settle(): Promise<void> {
  settling++;
  try {
    for (let turn = 0; turn < fewestTurns || (turn < mostTurns && pendingTurns() >= settling); turn++) await nextTurn();
  } finally {
    settling--;
  }
}

const pendingTurns = (): number => process.getActiveResourcesInfo().filter((kind) => kind === "Immediate").length;
