import { type Conversion, ConversionError } from "#api/conversion.ts";
import { type ApiObject, apiVersionOf, type Resource } from "#api/resource.ts";
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
  type StoreWatcher,
} from "#store/store.ts";
import { StoreAround } from "#store/store-around.ts";
import { ConvertedEvents, type EventConversion } from "./converted-events.ts";
import { codecOf, startsWith, textOf, toStoredBytes } from "./encode-once.ts";
import { faultOf } from "./unreadable.ts";

/** What is sent to the webhook at once, and how often at the same time. */
const batchObjects = 50;
const batchBytes = 128 << 10;
const workers = 8;

/** A value of the store, wherever it is from. */
type Valued = Pick<StoreEvent, "key" | "value" | "revision" | "fault">;

/**
 * The store as one version of a kind sees it: values in other versions are converted by the kind's webhook when they
 * are read. A value that cannot be converted has a `fault`. Values in this version never wait for the webhook, unless
 * an earlier event does.
 */
export class ConvertedStore extends StoreAround {
  readonly #resource: Resource;
  readonly #conversion: Conversion;
  readonly #late = new Set<Promise<void>>();

  constructor(inner: Store, resource: Resource, conversion: Conversion) {
    super(inner);
    this.#resource = resource;
    this.#conversion = conversion;
  }

  /** Resolves when all events that the store has delivered so far are delivered here; undefined if they are. */
  late(): Promise<void> | undefined {
    return this.#late.size > 0 ? Promise.all(this.#late).then(() => {}) : undefined;
  }

  catchUp(): Promise<void> | undefined {
    return this.inner.catchUp()?.then(() => this.late());
  }

  async get(key: string, revision?: number): Promise<Entry | undefined> {
    const entry = await this.inner.get(key, revision);
    return entry && (await this.#converted([entry]))[0];
  }

  async list(prefix: string, options?: ListOptions): Promise<ListResult> {
    const found = await this.inner.list(prefix, options);
    return { ...found, entries: await this.#converted(found.entries) };
  }

  async changes(prefix: string, page: PageOptions): Promise<ChangesPage> {
    const found = await this.inner.changes(prefix, page);
    const before = found.events.flatMap(({ previous }) => previous ?? []);
    const converted = await this.#converted<StoreEvent | Entry>([...found.events, ...before]);
    const previous = converted.slice(found.events.length).values() as ArrayIterator<Entry>;
    const events = converted.slice(0, found.events.length) as StoreEvent[];
    return {
      ...found,
      events: events.map((event) => (event.previous ? { ...event, previous: previous.next().value } : event)),
    };
  }

  commit(changes: readonly Change[]): Promise<Committed | Refused> {
    return this.inner.commit(changes);
  }

  /** The previous values of events are not converted: caches have them. */
  watch(prefix: string, from: number, watcher: StoreWatcher): () => void {
    const conversion: EventConversion = {
      needs: (event) => this.#isForeign(event),
      convert: (events) => this.#converted(events),
    };
    const passing = new ConvertedEvents(conversion, watcher);
    const stop = this.inner.watch(prefix, from, {
      events: (events, revision) => this.#keepLate(passing.push(events, revision)),
      failed: (error) => passing.fail(error),
    });
    return () => {
      passing.end();
      stop();
    };
  }

  #keepLate(converting: Promise<void> | undefined): void {
    if (!converting) return;
    this.#late.add(converting);
    void converting.finally(() => this.#late.delete(converting));
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  /** Stored in another version. The version is in the head of the bytes. */
  #isForeign(entry: Valued): boolean {
    const { value } = entry;
    return value !== undefined && !faultOf(entry) && !startsWith(value, codecOf(this.#resource).head);
  }

  async #converted<T extends Valued>(entries: readonly T[]): Promise<readonly T[]> {
    const batches = batchesOf(entries, (entry) => this.#isForeign(entry));
    if (batches.length === 0) return entries;
    const results = [...entries];
    let unreachable: ConversionError | undefined;
    const next = batches.values();
    const work = async (): Promise<void> => {
      for (const indexes of next) {
        const converted = unreachable ?? (await this.#convert(indexes.map((at) => results[at] as T)));
        for (const [place, at] of indexes.entries()) {
          const one = converted instanceof ConversionError ? converted : converted[place];
          if (one instanceof ConversionError && one.isUnreachable) unreachable ??= one;
          results[at] = { ...(results[at] as T), ...asValue(one) };
        }
      }
    };
    await Promise.all(Array.from({ length: Math.min(workers, batches.length) }, work));
    return results;
  }

  async #convert(entries: readonly Valued[]): Promise<readonly (Uint8Array | ConversionError)[]> {
    const objects = entries.map(({ value }) => JSON.parse(textOf(value as Uint8Array)) as ApiObject);
    for (const { metadata } of objects) delete metadata.resourceVersion;
    const converted = await this.#conversion.convert(objects, apiVersionOf(this.#resource));
    const codec = codecOf(this.#resource);
    return entries.map(({ revision }, at) => {
      const one = converted[at] ?? new ConversionError("the conversion has no result");
      return one instanceof ConversionError ? one : toStoredBytes(codec, one, revision);
    });
  }
}

const nothing = new Uint8Array();
const asValue = (one: Uint8Array | ConversionError | undefined): Pick<Entry, "value" | "fault"> =>
  one instanceof Uint8Array ? { value: one } : { value: nothing, ...(one ? { fault: one } : {}) };

/** The places of the entries that match, in groups of limited size. */
function batchesOf<T extends Valued>(entries: readonly T[], matches: (entry: T) => boolean): number[][] {
  const batches: number[][] = [];
  let bytes = 0;
  for (const [at, entry] of entries.entries()) {
    if (!matches(entry)) continue;
    const last = batches.at(-1);
    bytes += entry.value?.length ?? 0;
    if (last && last.length < batchObjects && bytes <= batchBytes) last.push(at);
    else {
      batches.push([at]);
      bytes = entry.value?.length ?? 0;
    }
  }
  return batches;
}
