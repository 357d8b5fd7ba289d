import { type ApiObject } from "#api/resource.ts";
import { type Clock } from "#lib/async/clock.ts";
import { type WatchFeed } from "./watch-feed.ts";

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
