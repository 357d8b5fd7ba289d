import { type ApiObject, type Resource } from "#api/resource.ts";
import { internalError } from "#api/status.ts";
import { type Place, unreadableObject } from "#api/unreadable.ts";
import { type Clock } from "#lib/async/clock.ts";
import { isEncrypted } from "#server/encrypt/key-provider.ts";
import { type Store, type StoreEvent } from "#store/store.ts";
import { codecOf, EncodedObject } from "./encode-once.ts";

/** How often it is tried again: a key service may have been away, or a key may have been added. */
const retryMs = 10_000;
/** How many are tried again at once. */
const retried = 100;

interface Unreadable extends Place {
  readonly key: string;
  readonly revision: number;
  readonly fault: Error;
}

export interface UnreadableDeps {
  readonly store: Store;
  readonly clock: Clock;
  /** One of them can be read now. */
  readable(): void;
}

/**
 * The objects of one Resource whose stored values cannot be decrypted. A request for one of them fails; lists name it;
 * informers do not see it, or see its last readable version.
 */
export class UnreadableObjects {
  readonly #deps: UnreadableDeps;
  readonly #byName = new Map<string, Unreadable>();
  #cancel: (() => void) | undefined;

  constructor(deps: UnreadableDeps) {
    this.#deps = deps;
  }

  get size(): number {
    return this.#byName.size;
  }

  /** Throws if this object cannot be read. */
  check(namespace: string, name: string): void {
    const found = this.#byName.size > 0 && this.#byName.get(`${namespace}/${name}`);
    if (found) throw internalError(found.fault);
  }

  /** Notes whether the value can be read, and returns that. */
  note(place: Place, entry: Pick<StoreEvent, "key" | "value" | "revision" | "fault">): boolean {
    const fault = faultOf(entry);
    if (!fault) {
      this.delete(place);
      return true;
    }
    const { namespace, name } = place;
    this.#byName.set(`${namespace}/${name}`, { namespace, name, key: entry.key, revision: entry.revision, fault });
    this.#cancel ??= this.#deps.clock.after(retryMs, () => void this.#retry());
    return false;
  }

  delete({ namespace, name }: Place): void {
    if (this.#byName.size > 0) this.#byName.delete(`${namespace}/${name}`);
  }

  clear(): void {
    this.#byName.clear();
  }

  /** Those of one namespace, or of all for "". */
  in(namespace: string): Unreadable[] {
    const all = [...this.#byName.values()];
    return namespace ? all.filter((each) => each.namespace === namespace) : all;
  }

  close(): void {
    this.#cancel?.();
    this.clear();
  }

  async #retry(): Promise<void> {
    let isReadable = false;
    for (const { key } of [...this.#byName.values()].slice(0, retried)) {
      const entry = await this.#deps.store.get(key).catch(() => undefined);
      if (entry && !faultOf(entry)) isReadable = true;
    }
    this.#cancel = undefined;
    if (isReadable) this.#deps.readable();
    else if (this.#byName.size > 0) this.#cancel = this.#deps.clock.after(retryMs, () => void this.#retry());
  }
}

/** A server without encryption finds encrypted values if it was configured before. */
export const faultOf = ({ key, value, fault }: Pick<StoreEvent, "key" | "value" | "fault">): Error | undefined =>
  fault ?? (value && isEncrypted(value) ? notConfigured(key) : undefined);

const notConfigured = (key: string): Error =>
  new Error(`unable to transform key ${JSON.stringify(key)}: identity transformer tried to read encrypted data`);

/** What lists show instead of the object. */
export function encodedUnreadable<T extends ApiObject>(
  resource: Resource<T>,
  place: Place,
  revision: number,
): EncodedObject<T> {
  const object = unreadableObject(resource as unknown as Resource, place) as T;
  return new EncodedObject<T>(codecOf(resource as unknown as Resource), revision, { object });
}
