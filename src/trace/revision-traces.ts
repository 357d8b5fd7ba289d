import { type Trace } from "./trace.ts";

/** How many of the newest revisions are remembered. */
const defaultCapacity = 1 << 18;
/** Trace id and span id, in words of eight hex digits. */
const words = 6;

/**
 * Which trace made a revision, for the newest revisions: whoever wakes for one then works in its trace. A ring of
 * numbers, so that a commit costs a fraction of a microsecond and memory is touched only as far as it is used.
 *
 *     revisions  [ 4097 | 2 | 4099 | … ]     slot = revision mod capacity
 *     ids        [ 6 words | 6 words | … ]
 */
export class RevisionTraces {
  readonly #capacity: number;
  readonly #revisions: Float64Array;
  readonly #ids: Uint32Array;

  constructor(capacity: number = defaultCapacity) {
    this.#capacity = capacity;
    this.#revisions = new Float64Array(capacity);
    this.#ids = new Uint32Array(capacity * words);
  }

  remember(revision: number, { traceId, spanId }: Trace): void {
    const slot = revision % this.#capacity;
    const at = slot * words;
    const ids = this.#ids;
    this.#revisions[slot] = revision;
    ids[at] = word(traceId, 0);
    ids[at + 1] = word(traceId, 8);
    ids[at + 2] = word(traceId, 16);
    ids[at + 3] = word(traceId, 24);
    ids[at + 4] = word(spanId, 0);
    ids[at + 5] = word(spanId, 8);
  }

  /** undefined if the revision had no trace, or is too old. */
  of(revision: number): Trace | undefined {
    const slot = revision % this.#capacity;
    if (this.#revisions[slot] !== revision || revision === 0) return undefined;
    const at = slot * words;
    const hex = Array.from(this.#ids.subarray(at, at + words), eightDigits).join("");
    return { traceId: hex.slice(0, 32), spanId: hex.slice(32) };
  }
}

const eightDigits = (word: number): string => word.toString(16).padStart(8, "0");

/** Eight lower-case hex digits as a number; several times as fast as `parseInt` of a slice. */
function word(hex: string, from: number): number {
  let value = 0;
  for (let at = from; at < from + 8; at++) {
    const code = hex.charCodeAt(at);
    value = (value << 4) | (code < 58 ? code - 48 : code - 87);
  }
  return value;
}
