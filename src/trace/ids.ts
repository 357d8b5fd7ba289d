import { type Random, randomHex, systemRandom } from "#lib/data/random.ts";
import { type Trace } from "./trace.ts";

/** Span ids are sixteen apart; those in between are for the steps within the span. */
const gap = 16;
export const maxSteps = gap - 1;
const countDigits = 10;

/** Ids that never repeat in one run, and practically never between two: random digits and a counter. */
export class TraceIds {
  readonly #tracePrefix: string;
  readonly #spanPrefix: string;
  #count = 0;

  constructor(random: Random = systemRandom) {
    this.#tracePrefix = randomHex(random, (32 - countDigits) / 2);
    this.#spanPrefix = randomHex(random, (16 - countDigits) / 2);
  }

  /** A span in the parent's trace, or the first of a new trace. */
  next(parent: Trace | undefined): Trace {
    const id = (++this.#count * gap).toString(16).padStart(countDigits, "0");
    return { traceId: parent?.traceId ?? this.#tracePrefix + id, spanId: this.#spanPrefix + id };
  }
}

/** The id of a step within a span; `at` counts from 0. */
export const stepId = (spanId: string, at: number): string => spanId.slice(0, -1) + (at + 1).toString(16);
