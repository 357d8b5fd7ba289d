import { type StoreEvent, type StoreWatcher } from "#store/store.ts";

/** Events that wait for a webhook. With more, the cache starts over, and reads only the newest state. */
const maxWaitingBytes = 32 << 20;

export interface EventConversion {
  needs(event: StoreEvent): boolean;
  convert(events: readonly StoreEvent[]): Promise<readonly StoreEvent[]>;
}

/** Passes the events of a store on to a watcher in order. Those that must be converted hold up the ones behind them. */
export class ConvertedEvents {
  readonly #conversion: EventConversion;
  readonly #watcher: StoreWatcher;
  readonly #waiting: { readonly events: readonly StoreEvent[]; readonly revision: number }[] = [];
  #bytes = 0;
  #isDraining = false;
  #isOver = false;

  constructor(conversion: EventConversion, watcher: StoreWatcher) {
    this.#conversion = conversion;
    this.#watcher = watcher;
  }

  /** Returns a promise if this starts to convert: it resolves when nothing waits any more. */
  push(events: readonly StoreEvent[], revision: number): Promise<void> | undefined {
    if (this.#isOver) return undefined;
    if (!this.#isDraining && !events.some((event) => this.#conversion.needs(event))) {
      this.#watcher.events(events, revision);
      return undefined;
    }
    this.#waiting.push({ events, revision });
    for (const { value } of events) this.#bytes += value?.length ?? 0;
    if (this.#bytes > maxWaitingBytes) this.fail(new Error("too many objects wait for their conversion"));
    return this.#isDraining ? undefined : this.#drain();
  }

  fail(error: Error): void {
    if (this.#isOver) return;
    this.end();
    this.#watcher.failed(error);
  }

  end(): void {
    this.#isOver = true;
    this.#waiting.length = 0;
  }

  async #drain(): Promise<void> {
    this.#isDraining = true;
    try {
      while (this.#waiting.length > 0) await this.#passOn();
    } catch (error) {
      this.fail(error instanceof Error ? error : new Error(String(error)));
    } finally {
      // Without an await since the last look at what waits: an event that comes now starts anew.
      this.#isDraining = false;
    }
  }

  /** All that have come meanwhile: one call of the webhook is cheaper than many. */
  async #passOn(): Promise<void> {
    const batches = this.#waiting.splice(0);
    this.#bytes = 0;
    const converted = await this.#conversion.convert(batches.flatMap(({ events }) => events));
    let at = 0;
    for (const { events, revision } of batches) {
      if (this.#isOver) return;
      this.#watcher.events(converted.slice(at, at + events.length), revision);
      at += events.length;
    }
  }
}
