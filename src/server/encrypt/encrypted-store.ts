import { nextTurn } from "#lib/async/turns.ts";
import { messageOf } from "#lib/text/message-of.ts";
import {
  type Change,
  type ChangesPage,
  type Committed,
  type Entry,
  type ListOptions,
  type ListResult,
  type PageOptions,
  type Refused,
  type Store,
  type StoreEvent,
  StoreUnavailableError,
  type StoreWatcher,
} from "#store/store.ts";
import { StoreAround } from "#store/store-around.ts";
import { type Transformer } from "./provider.ts";

/** Finds out how the value of a key is stored. */
export type TransformerOf = (key: string) => Transformer;

/** Values of this size are decrypted in one turn of the event loop. */
const turnBytes = 256 << 10;

/** A store whose values are encrypted in the store behind it. A value that cannot be decrypted has a `fault`. */
export class EncryptedStore extends StoreAround {
  readonly #transformerOf: TransformerOf;
  /** What this process wrote and still has, so that its own events need not be decrypted. */
  readonly #written = new WeakMap<Uint8Array, { readonly key: string; readonly plain: WeakRef<Uint8Array> }>();
  /** Events that are still being decrypted, because their key had to be fetched first. */
  readonly #late = new Set<Promise<void>>();

  constructor(inner: Store, transformerOf: TransformerOf) {
    super(inner);
    this.#transformerOf = transformerOf;
  }

  catchUp(): Promise<void> | undefined {
    return this.inner.catchUp()?.then(() => this.#delivered());
  }

  async get(key: string, revision?: number): Promise<Entry | undefined> {
    const entry = await this.inner.get(key, revision);
    return entry && (await this.#opened(entry));
  }

  async list(prefix: string, options?: ListOptions): Promise<ListResult> {
    const found = await this.inner.list(prefix, options);
    return { ...found, entries: await this.#eachInTurns(found.entries, (entry) => this.#opened(entry)) };
  }

  async changes(prefix: string, page: PageOptions): Promise<ChangesPage> {
    const found = await this.inner.changes(prefix, page);
    return { ...found, events: await this.#eachInTurns(found.events, (event) => this.#openedEvent(event)) };
  }

  async commit(changes: readonly Change[]): Promise<Committed | Refused> {
    const result = await this.inner.commit(changes.map((change) => this.#sealed(change)));
    if (!result.ok) return { ...result, current: result.current && (await this.#opened(result.current)) };
    await this.#delivered();
    return result;
  }

  watch(prefix: string, from: number, watcher: StoreWatcher): () => void {
    let isOver = false;
    let last: Promise<void> | undefined;
    const stop = this.inner.watch(prefix, from, {
      events: (events, revision) => {
        const deliver = (opened: readonly StoreEvent[]): void => {
          if (!isOver) watcher.events(opened, revision);
        };
        const opened = this.#openedEvents(events);
        if (!last && !(opened instanceof Promise)) return deliver(opened);
        const before = last;
        const late: Promise<void> = (async () => {
          await before;
          deliver(await opened);
        })()
          .catch((error: unknown) => {
            if (isOver) return;
            end();
            watcher.failed(error instanceof Error ? error : new Error(messageOf(error)));
          })
          .finally(() => {
            this.#late.delete(late);
            if (last === late) last = undefined;
          });
        last = late;
        this.#late.add(late);
      },
      failed: (error) => watcher.failed(error),
    });
    const end = (): void => {
      isOver = true;
      stop();
    };
    return end;
  }

  /** The current value was encrypted with a key or provider that is no longer the first. */
  async isStale(key: string): Promise<boolean> {
    const entry = await this.inner.get(key);
    return entry !== undefined && this.#transformerOf(key).isStale(entry.value);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve(this.inner[Symbol.asyncDispose]());
  }

  /** Events that were delivered behind this store may still wait for others here. */
  async #delivered(): Promise<void> {
    while (this.#late.size > 0) await Promise.all(this.#late);
  }

  #sealed(change: Change): Change {
    const { key, value } = change;
    if (value === undefined) return change;
    const transformer = this.#transformerOf(key);
    try {
      transformer.checkSeal();
    } catch (error) {
      throw new StoreUnavailableError(`unable to transform key ${JSON.stringify(key)}: ${messageOf(error)}`);
    }
    const seal = (plain: Uint8Array): Uint8Array => {
      const stored = transformer.seal(plain, key);
      if (stored !== plain) this.#written.set(stored, { key, plain: new WeakRef(plain) });
      return stored;
    };
    return { ...change, value: typeof value === "function" ? (revision) => seal(value(revision)) : seal(value) };
  }

  #opened(entry: Entry): Entry | Promise<Entry> {
    const plain = this.#open(entry.key, entry.value);
    if (plain instanceof Promise) return plain.then((late) => ({ ...entry, ...late }));
    return plain.value === entry.value ? entry : { ...entry, ...plain };
  }

  #openedEvents(events: readonly StoreEvent[]): readonly StoreEvent[] | Promise<readonly StoreEvent[]> {
    const opened = events.map((event) => this.#openedEvent(event));
    return opened.some((event) => event instanceof Promise) ? Promise.all(opened) : (opened as StoreEvent[]);
  }

  #openedEvent(event: StoreEvent): StoreEvent | Promise<StoreEvent> {
    const previous = event.previous && this.#opened(event.previous);
    const plain = event.value === undefined ? undefined : this.#open(event.key, event.value);
    if (previous instanceof Promise || plain instanceof Promise) {
      return Promise.all([previous, plain]).then(([entry, late]) => ({ ...event, ...late, previous: entry }));
    }
    if (previous === event.previous && (!plain || plain.value === event.value)) return event;
    return { ...event, ...plain, previous };
  }

  #open(key: string, stored: Uint8Array): Opened | Promise<Opened> {
    const written = this.#written.get(stored);
    const known = written?.key === key ? written.plain.deref() : undefined;
    if (known) return { value: known };
    try {
      const plain = this.#transformerOf(key).open(stored, key);
      if (!(plain instanceof Promise)) return { value: plain };
      return plain.then(
        (value) => ({ value }),
        (error: unknown) => unreadable(key, error),
      );
    } catch (error) {
      return unreadable(key, error);
    }
  }

  async #eachInTurns<T extends { readonly value: Uint8Array | undefined }>(
    items: readonly T[],
    open: (item: T) => T | Promise<T>,
  ): Promise<readonly T[]> {
    const opened: (T | Promise<T>)[] = [];
    let bytes = 0;
    for (const item of items) {
      // Not one after the other: a key service that hangs is waited for once, and not for every value.
      opened.push(open(item));
      bytes += item.value?.length ?? 0;
      if (bytes < turnBytes) continue;
      bytes = 0;
      await nextTurn();
    }
    return await Promise.all(opened);
  }
}

interface Opened {
  readonly value: Uint8Array;
  readonly fault?: Error;
}

const nothing = new Uint8Array();
const unreadable = (key: string, error: unknown): Opened => ({
  value: nothing,
  fault: new Error(`unable to transform key ${JSON.stringify(key)}: ${messageOf(error)}`),
});
