import { type ApiObject } from "#api/resource.ts";
import { type CacheEvent } from "./watch-groups.ts";

export interface RingLimits {
  readonly maxEvents: number;
  /** Size of the versions in it, including the replaced ones. */
  readonly maxBytes: number;
}
const defaultLimits: RingLimits = { maxEvents: 8192, maxBytes: 48 << 20 };

/** The last events of one Resource, oldest first. A watch that resumes within it misses nothing. */
export class EventRing<T extends ApiObject = ApiObject> {
  readonly #limits: RingLimits;
  #events: CacheEvent<T>[] = [];
  #bytes = 0;
  /** Everything after this revision is in the ring. */
  #from = 0;

  constructor(limits: RingLimits = defaultLimits) {
    this.#limits = limits;
  }

  /** The earliest revision from which a watch can resume. */
  get oldest(): number {
    return this.#from;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** The revision of the newest event; 0 if there is none. */
  get last(): number {
    return this.#events.at(-1)?.revision ?? 0;
  }

  start(revision: number): void {
    this.#events = [];
    this.#bytes = 0;
    this.#from = revision;
  }

  push(events: readonly CacheEvent<T>[]): void {
    for (const event of events) {
      this.#events.push(event);
      this.#bytes += bytesOf(event);
    }
    const { maxEvents, maxBytes } = this.#limits;
    // Cut in halves rather than one by one, because shifting an array costs its length.
    if (this.#events.length <= maxEvents * 1.5 && this.#bytes <= maxBytes) return;
    let cut = this.#events.length;
    let bytes = 0;
    for (const oldest = Math.max(this.#events.length - maxEvents, 0); cut > oldest; cut--) {
      const more = bytesOf(this.#events[cut - 1]);
      if (bytes + more > maxBytes / 2) break;
      bytes += more;
    }
    this.#from = this.#events[cut - 1]?.revision ?? this.#from;
    // The changes of one commit stay together, because a watch resumes from a revision.
    while (this.#events[cut]?.revision === this.#from) bytes -= bytesOf(this.#events[cut++]);
    this.#bytes = bytes;
    this.#events = this.#events.slice(cut);
  }

  /** Drops events up to a revision, once they are a good part of all. */
  forget(revision: number): void {
    // In most rings there is nothing to drop.
    const lastOfQuarter = this.#events[Math.ceil(this.#events.length / 4) - 1];
    if (!lastOfQuarter || lastOfQuarter.revision > revision) return;
    const cut = this.#firstAfter(revision);
    this.#from = Math.max(this.#from, revision);
    for (let at = 0; at < cut; at++) this.#bytes -= bytesOf(this.#events[at]);
    this.#events = this.#events.slice(cut);
  }

  /**
   * Events after the revision, at most one chunk; undefined if some of them are gone. The events of one revision are
   * never split.
   */
  after(revision: number, { limit, maxBytes }: { limit: number; maxBytes: number }): CacheEvent<T>[] | undefined {
    if (revision < this.#from) return undefined;
    const first = this.#firstAfter(revision);
    let at = first;
    for (let bytes = 0; at < this.#events.length; at++) {
      const event = this.#events[at];
      const isEnough = at - first >= limit || bytes >= maxBytes;
      if (isEnough && event?.revision !== this.#events[at - 1]?.revision) break;
      bytes += bytesOf(event);
    }
    return this.#events.slice(first, at);
  }

  #firstAfter(revision: number): number {
    let low = 0;
    let high = this.#events.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#events[middle]?.revision ?? 0) <= revision) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function bytesOf(event: CacheEvent | undefined): number {
  return (event?.encoded.storedBytes ?? 0) + (event?.previous?.storedBytes ?? 0);
}
