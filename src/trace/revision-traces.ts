import { hexOf, putWords } from "./hex-words.ts";
import { type Trace } from "./trace.ts";

/** How many of the newest revisions are remembered. */
const defaultCapacity = 1 << 18;
const kept = 64;
/** Trace id and span id, in words of eight hex digits. */
const words = 6;
/** How many revisions a page has room for. */
const pageSize = 1 << 12;

/**
 * The traces of the newest revisions, so that work caused by a revision joins its trace. A ring of numbers, so that a
 * commit costs a fraction of a microsecond. It consists of pages that are made when they are first written: a test may
 * use a hundred clusters one after another, and few of them write much.
 *
 *     slot = revision mod capacity
 *     pages  [ page | - | - | … ]
 *              └─ revisions  [ 4097 | 2 | 4099 | … ]
 *                 ids        [ 6 words | 6 words | … ]
 */
export class RevisionTraces {
  readonly #capacity: number;
  readonly #pages: (Page | undefined)[];
  /** The newest ones as objects, because all watchers ask for them right after the commit. */
  readonly #newest: { revision: number; trace: Trace | undefined }[];

  constructor(capacity: number = defaultCapacity) {
    this.#capacity = capacity;
    this.#pages = Array.from({ length: Math.ceil(capacity / pageSize) }, () => undefined);
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
    const number = Math.floor(slot / pageSize);
    const page = this.#pages[number] ?? createPage();
    this.#pages[number] = page;
    const at = slot % pageSize;
    page.revisions[at] = revision;
    putWords(page.ids, at * words, traceId);
    putWords(page.ids, at * words + 4, spanId);
  }

  /** undefined if the revision had no trace, or is too old. */
  of(revision: number): Trace | undefined {
    const slot = revision % this.#capacity;
    const page = this.#pages[Math.floor(slot / pageSize)];
    const at = slot % pageSize;
    if (page?.revisions[at] !== revision || revision === 0) return undefined;
    const newest = this.#newest[revision % kept];
    if (newest?.revision === revision && newest.trace) return newest.trace;
    return { traceId: hexOf(page.ids, at * words, 4), spanId: hexOf(page.ids, at * words + 4, 2) };
  }
}

interface Page {
  readonly revisions: Float64Array;
  readonly ids: Uint32Array;
}

const createPage = (): Page => ({
  revisions: new Float64Array(pageSize),
  ids: new Uint32Array(pageSize * words),
});
