import { type Counts } from "#lib/process/metrics.ts";

/** How long a ratio was in which bucket. As upstream's, the histogram has one sample for every nanosecond. */
export class RatioTimes {
  readonly #buckets: readonly number[];
  readonly #counts: Counts;

  constructor(buckets: readonly number[]) {
    this.#buckets = buckets;
    this.#counts = { buckets: new Float64Array(buckets.length), sum: 0, count: 0 };
  }

  get counts(): Counts {
    return this.#counts;
  }

  /** The ratio was `value / limit` for so long. */
  pass(ms: number, value: number, limit: number): void {
    const ns = Math.round(ms * 1e6);
    const ratio = value / Math.max(1, limit);
    const { buckets } = this.#counts;
    this.#counts.count += ns;
    this.#counts.sum += ratio * ns;
    for (let at = 0; at < this.#buckets.length; at++) {
      if (ratio > (this.#buckets[at] ?? 0)) continue;
      buckets[at] = (buckets[at] ?? 0) + ns;
      return;
    }
  }
}

/** Upstream's buckets: two near 1 tell saturation from nearly so. */
export const usageBuckets = {
  seats: [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1],
  requests: [0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.25, 0.5, 0.75, 1],
  demand: [0.2, 0.4, 0.6, 0.8, 1, 1.2, 1.4, 1.7, 2, 2.8, 4, 6],
  readVsWrite: [0, 0.001, 0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1],
};

/** What a priority level holds at the moment. */
export interface Held {
  readonly seatsInUse: number;
  readonly seatsWaiting: number;
  readonly executing: number;
  readonly waiting: number;
}

/** How much of a priority level was used over time. */
export class LevelTimes {
  readonly seats = new RatioTimes(usageBuckets.seats);
  readonly executing = new RatioTimes(usageBuckets.requests);
  readonly waiting = new RatioTimes(usageBuckets.requests);
  readonly demand = new RatioTimes(usageBuckets.demand);
  /** The seats that the level has now; for one without any, a tenth of all. */
  limit = 1;
  /** How many requests fit into its queues. */
  capacity = 1;

  pass(ms: number, { seatsInUse, seatsWaiting, executing, waiting }: Held): void {
    this.seats.pass(ms, seatsInUse, this.limit);
    this.executing.pass(ms, executing, this.limit);
    this.waiting.pass(ms, waiting, this.capacity);
    this.demand.pass(ms, seatsInUse + seatsWaiting, this.limit);
  }
}

export type Phase = "waiting" | "executing";
export type RequestKind = "readOnly" | "mutating";

/** How many reads and writes waited and were served over time, in all priority levels together. */
export class KindTimes {
  readonly counts: Readonly<Record<Phase, Record<RequestKind, number>>> = {
    waiting: { readOnly: 0, mutating: 0 },
    executing: { readOnly: 0, mutating: 0 },
  };
  readonly times: Readonly<Record<Phase, Record<RequestKind, RatioTimes>>> = {
    waiting: { readOnly: ofKind(), mutating: ofKind() },
    executing: { readOnly: ofKind(), mutating: ofKind() },
  };
  /** How many may be in each phase. */
  limits: Readonly<Record<Phase, number>> = { waiting: 1, executing: 1 };
  #sinceMs: number;

  constructor(nowMs: number) {
    this.#sinceMs = nowMs;
  }

  add(phase: Phase, kind: RequestKind, by: number, nowMs: number): void {
    this.pass(nowMs);
    this.counts[phase][kind] += by;
  }

  pass(nowMs: number): void {
    const ms = nowMs - this.#sinceMs;
    if (ms <= 0) return;
    this.#sinceMs = nowMs;
    for (const phase of phases)
      for (const kind of kinds) this.times[phase][kind].pass(ms, this.counts[phase][kind], this.limits[phase]);
  }
}

function ofKind(): RatioTimes {
  return new RatioTimes(usageBuckets.readVsWrite);
}
export const phases: readonly Phase[] = ["waiting", "executing"];
export const kinds: readonly RequestKind[] = ["readOnly", "mutating"];
