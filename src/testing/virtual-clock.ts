import { type Clock, sleepOn } from "#lib/async/clock.ts";
import { nextTurn } from "#lib/async/turns.ts";
import { Heap } from "#lib/data/heap.ts";

/** Time that stands still until a test advances it. */
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

/** A round number, so that timestamps in failures are easy to read. */
const defaultStartMs = Date.UTC(2026, 0, 1, 8);

export function createVirtualClock(startMs: number = defaultStartMs): VirtualClock {
  const timers = new Heap<Timer>((a, b) => a.at < b.at || (a.at === b.at && a.order < b.order));
  let now = startMs;
  let order = 0;
  let pending = 0;

  /** Takes the next timer that is due by `limit` off the heap. */
  const take = (limit: number): Timer | undefined => {
    for (;;) {
      const next = timers.peek();
      if (!next || next.at > limit) return undefined;
      timers.pop();
      if (next.callback) return next;
    }
  };
  const fire = async (timer: Timer): Promise<void> => {
    now = Math.max(now, timer.at);
    const { callback } = timer;
    timer.callback = undefined;
    pending--;
    callback?.();
    await settle();
  };

  const clock: VirtualClock = {
    now: () => now,
    after(delayMs, callback) {
      const timer: Timer = { at: now + Math.max(delayMs, 0), order: order++, callback };
      timers.push(timer);
      pending++;
      return () => {
        if (!timer.callback) return;
        timer.callback = undefined;
        pending--;
      };
    },
    sleep: (delayMs, signal) => sleepOn(clock, delayMs, signal),
    get pending() {
      return pending;
    },
    settle,
    async advance(ms) {
      const limit = now + ms;
      await settle();
      for (let timer = take(limit); timer; timer = take(limit)) await fire(timer);
      now = limit;
    },
    async runUntil(condition, limitMs) {
      const limit = now + limitMs;
      await settle();
      while (!(await condition())) {
        const timer = take(limit);
        if (!timer) throw new Error(`the condition did not hold within ${limitMs} ms of virtual time`);
        await fire(timer);
      }
    },
  };
  return clock;
}

/** Several turns of the event loop, because what one turn resolves may schedule the next. */
const turns = 4;

async function settle(): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await nextTurn();
}
