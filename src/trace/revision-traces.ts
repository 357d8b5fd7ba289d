import { hexOf, putWords } from "./hex-words.ts";
import { type Trace } from "./trace.ts";

/** How many of the newest revisions are remembered. */
const defaultCapacity = 1 << 18;
const kept = 64;
/** Trace id and span id, in words of eight hex digits. */
const words = 6;

/**
 * The traces of the newest revisions, so that work caused by a revision joins its trace. A ring of numbers, so that a
 * commit costs a fraction of a microsecond and memory is touched only as far as it is used.
 *
 *     revisions  [ 4097 | 2 | 4099 | … ]     slot = revision mod capacity
 *     ids        [ 6 words | 6 words | … ]
 */
export class RevisionTraces {
  readonly #capacity: number;
  readonly #revisions: Float64Array;
  readonly #ids: Uint32Array;
  /** The newest ones as objects, because all watchers ask for them right after the commit. */
  readonly #newest: { revision: number; trace: Trace | undefined }[];

  constructor(capacity: number = defaultCapacity) {
    this.#capacity = capacity;
    this.#revisions = new Float64Array(capacity);
    this.#ids = new Uint32Array(capacity * words);
    this.#newest = Array.from({ length: kept }, () => ({ revision: 0, trace: undefined }));
  }

  remember(revision: number, trace: Trace): void {
    const { traceId, spanId } = trace;
    const newest = this.#newest[revision % kept];
    if (newest) {
      newest.revision = revision;
      newest.trace = trace;
    }
    const slot = revision % this.#capacity;
    const at = slot * words;
    this.#revisions[slot] = revision;
    putWords(this.#ids, at, traceId);
    putWords(this.#ids, at + 4, spanId);
  }

  /** undefined if the revision had no trace, or is too old. */
  of(revision: number): Trace | undefined {
    const slot = revision % this.#capacity;
    if (this.#revisions[slot] !== revision || revision === 0) return undefined;
    const newest = this.#newest[revision % kept];
    if (newest?.revision === revision && newest.trace) return newest.trace;
    const at = slot * words;
    return { traceId: hexOf(this.#ids, at, 4), spanId: hexOf(this.#ids, at + 4, 2) };
  }
}
