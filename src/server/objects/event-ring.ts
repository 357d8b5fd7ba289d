import { type ApiObject } from "#api/resource.ts";
import { type CacheEvent } from "./watch-groups.ts";

/** The last events of one Resource, oldest first. A watch that resumes within it misses nothing. */
export class EventRing<T extends ApiObject = ApiObject> {
  readonly #capacity: number;
  readonly #maxBytes: number;
  #events: CacheEvent<T>[] = [];
  #bytes = 0;
  /** Everything after this revision is here. */
  #from = 0;

  constructor(capacity = 8192, maxBytes = 32 << 20) {
    this.#capacity = capacity;
    this.#maxBytes = maxBytes;
  }

  /** The earliest revision from which a watch can go on. */
  get oldest(): number {
    return this.#from;
  }

  start(revision: number): void {
    this.#events = [];
    this.#bytes = 0;
    this.#from = revision;
  }

  push(events: readonly CacheEvent<T>[]): void {
    for (const event of events) {
      this.#events.push(event);
      this.#bytes += event.encoded.storedBytes;
    }
    // Cut in halves rather than one by one: shifting an array costs its length.
    if (this.#events.length <= this.#capacity * 1.5 && this.#bytes <= this.#maxBytes) return;
    let cut = Math.max(this.#events.length - this.#capacity, 0);
    let bytes = 0;
    for (let at = this.#events.length - 1; at >= cut; at--) {
      bytes += this.#events[at]?.encoded.storedBytes ?? 0;
      if (bytes > this.#maxBytes / 2) cut = at + 1;
      else this.#bytes = bytes;
    }
    if (cut === this.#events.length) this.#bytes = 0;
    this.#from = this.#events[cut - 1]?.revision ?? this.#from;
    this.#events = this.#events.slice(cut);
  }

  /** Events after the revision, or undefined if some of them are gone. */
  after(revision: number): CacheEvent<T>[] | undefined {
    if (revision < this.#from) return undefined;
    let low = 0;
    let high = this.#events.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#events[middle]?.revision ?? 0) <= revision) low = middle + 1;
      else high = middle;
    }
    return this.#events.slice(low);
  }
}
