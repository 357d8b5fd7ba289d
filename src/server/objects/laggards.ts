import { type ApiObject } from "#api/resource.ts";
import { type Clock } from "#lib/async/clock.ts";
import { type EncodedObject } from "./encode-once.ts";
import { type WatchFeed } from "./watch-feed.ts";
import { type CacheEvent } from "./watch-groups.ts";

const checkMs = 5000;
const checksPerBookmark = 12;

/**
 * The watchers of one Resource that read its past. While there are any, those whose past is gone are ended, and
 * bookmarks are sent to all periodically.
 */
export class Laggards<T extends ApiObject> {
  readonly #clock: Clock;
  readonly #feeds = new Set<WatchFeed<T>>();
  readonly #emptied: () => void;
  #stopChecks: (() => void) | undefined;
  #checks = 0;

  /** `emptied` is called when the last one has caught up or is gone. */
  constructor(clock: Clock, emptied: () => void) {
    this.#clock = clock;
    this.#emptied = emptied;
  }

  get size(): number {
    return this.#feeds.size;
  }

  add(feed: WatchFeed<T>): void {
    this.#feeds.add(feed);
    if (!this.#stopChecks) this.#scheduleChecks();
  }

  delete(feed: WatchFeed<T>): void {
    if (!this.#feeds.delete(feed) || this.#feeds.size > 0) return;
    this.#stopChecks?.();
    this.#stopChecks = undefined;
    this.#emptied();
  }

  endAll(error?: Error): void {
    for (const feed of [...this.#feeds]) feed.end(error);
  }

  #scheduleChecks(): void {
    this.#stopChecks = this.#clock.after(checkMs, () => {
      this.#scheduleChecks();
      const isBookmarkDue = ++this.#checks % checksPerBookmark === 0;
      for (const feed of [...this.#feeds]) {
        feed.check();
        if (isBookmarkDue) feed.bookmark();
      }
    });
  }
}

/** So many are kept as objects, and no more than these bytes: watchers that lag are usually a few turns behind. */
const maxVersions = 256;
const maxBytes = 1 << 20;

/**
 * Versions that newer ones have replaced. They are kept as bytes, but while somebody reads the past, the last ones stay
 * objects: what a watcher selects is decided by the version before a change too, which would have to be parsed again.
 */
export class PastVersions {
  readonly #kept: { readonly version: EncodedObject; readonly bytes: number }[] = [];
  #bytes = 0;

  add({ type, encoded, previous }: CacheEvent, isPastRead: boolean): void {
    if (type === "delete") encoded.shed();
    if (!previous) return;
    if (!isPastRead) return previous.shed();
    const bytes = previous.storedBytes;
    this.#kept.push({ version: previous, bytes });
    this.#bytes += bytes;
    while (this.#kept.length > maxVersions || this.#bytes > maxBytes) this.#shedOldest();
  }

  /** Nobody reads the past any more. */
  shedAll(): void {
    while (this.#kept.length > 0) this.#shedOldest();
  }

  #shedOldest(): void {
    const oldest = this.#kept.shift();
    this.#bytes -= oldest?.bytes ?? 0;
    oldest?.version.shed();
  }
}
