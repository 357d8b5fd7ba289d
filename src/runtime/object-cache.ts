import { type ApiObject, type Resource } from "#api/resource.ts";
import { orAborted } from "#lib/async/tasks.ts";
import { withoutAll } from "#lib/data/without-all.ts";
import { type Log } from "#lib/process/log.ts";
import { type Change, type Informer } from "./informer.ts";

/** `namespace/name`, or `/name`. */
export const objectKey = (namespace: string | undefined, name: string | undefined): string =>
  `${namespace ?? ""}/${name ?? ""}`;
export const keyOf = ({ metadata }: ApiObject): string => objectKey(metadata.namespace, metadata.name);

/** The revision in a resourceVersion; 0 if it is not a number. */
export function revisionOf(resourceVersion: string | undefined): number {
  const revision = Number(resourceVersion);
  return Number.isSafeInteger(revision) ? revision : 0;
}

/**
 * The objects of an informer. Consumers read it through Informer; the watcher that feeds it uses the other methods.
 *
 *     objects   "ns/name" -> object
 *     indexes   "controller" -> "uid-1" -> "ns/name" -> object
 */
export class ObjectCache<T extends ApiObject> implements Informer<T> {
  readonly resource: Resource<T>;
  readonly #log: Log;
  readonly #objects = new Map<string, T>();
  readonly #indexes = new Map<string, Index<T>>();
  /** The functions of the indexes that were added. */
  readonly #added = new Map<string, (object: T) => readonly string[]>();
  readonly #handlers = new Set<(change: Change<T>) => void>();
  readonly #waiters = new Set<{ readonly revision: number; wake(): void }>();
  readonly #synced = Promise.withResolvers<void>();
  #revision = 0;

  constructor(resource: Resource<T>, log: Log) {
    this.resource = resource;
    this.#log = log;
    this.#index("namespace", ({ metadata }) => [metadata.namespace ?? ""]);
    this.#index("owner", ownerUids);
    this.#index("controller", controllerUids);
    for (const [name, keysOf] of Object.entries(resource.indexes)) this.#index(name, keysOf);
  }

  get revision(): number {
    return this.#revision;
  }
  get size(): number {
    return this.#objects.size;
  }
  get({ namespace, name }: { readonly namespace?: string | undefined; readonly name: string }): T | undefined {
    return this.#objects.get(objectKey(namespace, name));
  }
  list(namespace?: string): T[] {
    return [...(namespace ? this.by("namespace", namespace) : this.#objects.values())];
  }
  by(index: string, key: string): readonly T[] {
    const found = this.#indexes.get(index);
    if (!found) throw new Error(`informer of ${this.resource.plural} has no index ${JSON.stringify(index)}`);
    return found.get(key);
  }
  addIndex(name: string, keysOf: (object: T) => readonly string[]): void {
    const known = this.#added.get(name);
    if (known === keysOf) return;
    if (this.#indexes.has(name)) throw new Error(`informer of ${this.resource.plural} has an index ${name} already`);
    this.#added.set(name, keysOf);
    const index = this.#index(name, keysOf);
    for (const [key, object] of this.#objects) index.change(key, undefined, object);
  }
  subscribe(handler: (change: Change<T>) => void): () => void {
    for (const object of this.#objects.values()) {
      this.#call(handler, { type: "put", object, previous: undefined, trace: undefined });
    }
    this.#handlers.add(handler);
    return () => this.#handlers.delete(handler);
  }
  synced(signal?: AbortSignal): Promise<void> {
    return orAborted(this.#synced.promise, signal);
  }
  async caughtUpTo(revision: number, signal?: AbortSignal): Promise<void> {
    if (this.#revision >= revision) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiter = { revision, wake: resolve };
    this.#waiters.add(waiter);
    try {
      await orAborted(promise, signal);
    } finally {
      this.#waiters.delete(waiter);
    }
  }

  /** Adds or replaces one object. */
  put(object: T, trace?: string): void {
    const key = keyOf(object);
    const previous = this.#objects.get(key);
    this.#objects.set(key, object);
    for (const index of this.#indexes.values()) index.change(key, previous, object);
    this.#tell({ type: "put", object, previous, trace });
    this.advance(revisionOf(object.metadata.resourceVersion));
  }
  /** Removes one object; `object` is its last state. */
  delete(object: T, trace?: string): void {
    const key = keyOf(object);
    const previous = this.#objects.get(key);
    if (previous) {
      this.#objects.delete(key);
      for (const index of this.#indexes.values()) index.change(key, previous, undefined);
      this.#tell({ type: "delete", object, trace });
    }
    this.advance(revisionOf(object.metadata.resourceVersion));
  }
  /** The items are the complete state: other objects are gone, and unchanged ones cause no event. */
  replace(items: readonly T[], revision: number): void {
    const kept = new Set(items.map(keyOf));
    for (const [key, object] of this.#objects) if (!kept.has(key)) this.delete(object);
    for (const object of items) {
      const { uid, resourceVersion } = object.metadata;
      const known = this.#objects.get(keyOf(object))?.metadata;
      // The name belongs to another object now, and subscribers need to see both changes.
      if (known && known.uid !== uid) this.#recreated(object);
      else if (known?.resourceVersion !== resourceVersion || resourceVersion === undefined) this.put(object);
    }
    this.advance(revision);
    this.#synced.resolve();
  }
  /** Everything up to this revision has been seen. */
  advance(revision: number): void {
    if (revision <= this.#revision) return;
    this.#revision = revision;
    for (const waiter of this.#waiters) if (waiter.revision <= revision) waiter.wake();
  }

  #index(name: string, keysOf: (object: T) => readonly string[]): Index<T> {
    const index = new Index<T>((object) => {
      try {
        return keysOf(object);
      } catch (error) {
        const facts = { resource: this.resource.plural, object: keyOf(object), index: name, error };
        this.#log.error("an index cannot read an object", facts);
        return [];
      }
    });
    this.#indexes.set(name, index);
    return index;
  }
  #recreated(object: T): void {
    const old = this.#objects.get(keyOf(object));
    if (old) this.delete(old);
    this.put(object);
  }
  #tell(change: Change<T>): void {
    for (const handler of this.#handlers) this.#call(handler, change);
  }
  /** One subscriber's error must not keep the change from the others. */
  #call(handler: (change: Change<T>) => void, change: Change<T>): void {
    try {
      handler(change);
    } catch (error) {
      this.#log.error("a subscriber failed", { resource: this.resource.plural, object: keyOf(change.object), error });
    }
  }
}

const ownerUids = ({ metadata }: ApiObject): string[] => (metadata.ownerReferences ?? []).map(({ uid }) => uid);
const controllerUids = ({ metadata }: ApiObject): string[] =>
  (metadata.ownerReferences ?? []).filter(({ controller }) => controller).map(({ uid }) => uid);

const none: readonly never[] = [];

/** Objects by the keys that a function returns for them. */
class Index<T> {
  readonly #keysOf: (object: T) => readonly string[];
  readonly #entries = new Map<string, Map<string, T>>();
  /** What was asked for, until it changes. */
  readonly #known = new Map<string, readonly T[]>();

  constructor(keysOf: (object: T) => readonly string[]) {
    this.#keysOf = keysOf;
  }
  get(key: string): readonly T[] {
    const known = this.#known.get(key);
    if (known) return known;
    const entry = this.#entries.get(key);
    if (!entry) return none;
    const found = [...entry.values()];
    this.#known.set(key, found);
    return found;
  }
  change(objectKey: string, before: T | undefined, after: T | undefined): void {
    const keys = after === undefined ? [] : this.#keysOf(after);
    if (before !== undefined) {
      for (const key of withoutAll(this.#keysOf(before), keys)) this.#remove(key, objectKey);
    }
    if (after === undefined) return;
    for (const key of keys) {
      this.#known.delete(key);
      const entry = this.#entries.get(key);
      if (entry) entry.set(objectKey, after);
      else this.#entries.set(key, new Map([[objectKey, after]]));
    }
  }
  #remove(key: string, objectKey: string): void {
    this.#known.delete(key);
    const entry = this.#entries.get(key);
    entry?.delete(objectKey);
    if (entry?.size === 0) this.#entries.delete(key);
  }
}
