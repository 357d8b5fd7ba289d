import { type ApiObject } from "#api/resource.ts";
import { type CacheEvent } from "./watch-groups.ts";

/** The last events of one Resource, oldest first. A watch that resumes within it misses nothing. */
export class EventRing<T extends ApiObject = ApiObject> {
  readonly #capacity: number;
  #events: CacheEvent<T>[] = [];
  /** Everything after this revision is here. */
  #from = 0;

  constructor(capacity = 8192) {
    this.#capacity = capacity;
  }

  /** The earliest revision from which a watch can go on. */
  get oldest(): number {
    return this.#from;
  }

  start(revision: number): void {
    this.#events = [];
    this.#from = revision;
  }

  push(events: readonly CacheEvent<T>[]): void {
    for (const event of events) this.#events.push(event);
    // Cut in halves rather than one by one: shifting an array costs its length.
    if (this.#events.length <= this.#capacity * 1.5) return;
    const cut = this.#events.length - this.#capacity;
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
