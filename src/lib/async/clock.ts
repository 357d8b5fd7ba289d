import { realClearTimeout, realFineNow, realNow, realSetTimeout, realTimeOrigin } from "./real-timers.ts";

/** The source of all time: timers, deadlines, backoff and timestamps. Tests drive a virtual clock by hand. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Like `now`, but with fractions where the clock has them: for measuring, not for decisions. */
  fine?(): number;
  /** Calls back once after the delay; the returned function cancels. */
  after(delayMs: number, callback: () => void): () => void;
  /** Resolves after the delay; rejects with the signal's reason if that comes first. */
  sleep(delayMs: number, signal?: AbortSignal): Promise<void>;
}

/** Node fires a timer that is longer than this immediately. */
const maxTimerMs = 2 ** 31 - 1;

type After = Clock["after"];

export const systemClock: Clock = {
  now: realNow,
  fine: () => realTimeOrigin + realFineNow(),
  after: chained((delayMs, callback) => {
    const timer = realSetTimeout(callback, delayMs);
    return () => realClearTimeout(timer);
  }),
  sleep: (delayMs, signal) => sleepOn(systemClock, delayMs, signal),
};

/** Makes long delays of timers that cannot be so long, because users ask for delays of years. */
export function chained(short: After): After {
  const after: After = (delayMs, callback) => {
    if (delayMs <= maxTimerMs) return short(delayMs, callback);
    let cancel = short(maxTimerMs, () => {
      cancel = after(delayMs - maxTimerMs, callback);
    });
    return () => cancel();
  };
  return after;
}

/** Implements `sleep` with `after`, for every clock. */
export function sleepOn(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const cancel = clock.after(delayMs, () => {
      signal?.removeEventListener("abort", abort);
      resolve();
    });
    const abort = () => {
      cancel();
      reject(signal?.reason);
    };
    signal?.addEventListener("abort", abort, { once: true });
  });
}

/** RFC 3339 with seconds, as Kubernetes writes its times. */
export function timestamp(ms: number): string {
  const second = Math.floor(ms / 1000);
  if (second !== lastSecond) {
    lastTimestamp = `${new Date(ms).toISOString().slice(0, 19)}Z`;
    lastSecond = second;
  }
  return lastTimestamp;
}
/** Caches the last result, because many writes fall into the same second. */
let lastSecond = Number.NaN;
let lastTimestamp = "";
/** RFC 3339 with microseconds, as in leases and events. */
export const microTimestamp = (ms: number): string => `${new Date(ms).toISOString().slice(0, 23)}000Z`;
