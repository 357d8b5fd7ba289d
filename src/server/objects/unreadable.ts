import { type ApiObject, type Resource } from "#api/resource.ts";
import { internalError, StatusError } from "#api/status.ts";
import { type Place, unreadableObject } from "#api/unreadable.ts";
import { type Clock } from "#lib/async/clock.ts";
import { isEncrypted } from "#server/encrypt/key-provider.ts";
import { type Store, type StoreEvent } from "#store/store.ts";
import { codecOf, EncodedObject } from "./encode-once.ts";

/** How often it is tried again: a key service may have been away, or a key may have been added. */
const retryMs = 10_000;
/** Whoever reads one of them has it tried again at once, but not more often than this. */
const askedRetryMs = 1_000;
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
 * The objects of one Resource whose stored values cannot be decrypted, or not be converted by a webhook. A request for
 * one of them fails; lists name it, or fail if it cannot be converted; informers do not see it, or see its last readable
 * version.
 */
export class UnreadableObjects {
  readonly #deps: UnreadableDeps;
  readonly #byName = new Map<string, Unreadable>();
  #cancel: (() => void) | undefined;
  #retrying: Promise<void> | undefined;
  #triedMs = 0;
  #tried = 0;
  #isClosed = false;

  constructor(deps: UnreadableDeps) {
    this.#deps = deps;
  }

  get size(): number {
    return this.#byName.size;
  }

  /** Throws if this object cannot be read. */
  check(namespace: string, name: string): void {
    const found = this.#byName.size > 0 && this.#byName.get(`${namespace}/${name}`);
    if (found) throw statusOf(found.fault);
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
    this.#triedMs = this.#deps.clock.now();
    this.#plan();
    return false;
  }

  #update(one: Unreadable, fault: Error): void {
    const key = `${one.namespace}/${one.name}`;
    if (this.#byName.get(key) === one) this.#byName.set(key, { ...one, fault });
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
    this.#isClosed = true;
    this.#cancel?.();
    this.clear();
  }

  /** Tries again now, unless that was done a moment ago. */
  tryAgain(): Promise<void> | undefined {
    if (this.#retrying || this.#byName.size === 0) return this.#retrying;
    return this.#deps.clock.now() - this.#triedMs < askedRetryMs ? undefined : this.#retry();
  }

  #plan(): void {
    if (this.#cancel || this.#isClosed || this.#byName.size === 0) return;
    this.#cancel = this.#deps.clock.after(retryMs, () => {
      this.#cancel = undefined;
      void this.#retry();
    });
  }

  #retry(): Promise<void> {
    this.#retrying ??= this.#retrySome().finally(() => {
      this.#retrying = undefined;
      this.#plan();
    });
    return this.#retrying;
  }

  async #retrySome(): Promise<void> {
    // Others each time: those that never can be read must not keep the rest from being tried.
    const all = [...this.#byName.values()];
    const start = this.#tried % Math.max(all.length, 1);
    const some = [...all.slice(start), ...all.slice(0, start)].slice(0, retried);
    this.#tried = start + some.length;
    const entries = await Promise.all(some.map(({ key }) => this.#deps.store.get(key).catch(() => undefined)));
    const faults = entries.map((entry) => entry && (faultOf(entry) ?? ("none" as const)));
    const isReadable = faults.includes("none");
    // The reason may be another one by now.
    for (const [index, fault] of faults.entries()) {
      const one = some[index];
      if (one && fault instanceof Error) this.#update(one, fault);
    }
    this.#triedMs = this.#deps.clock.now();
    if (isReadable && !this.#isClosed) this.#deps.readable();
  }
}

/** A conversion that failed is told as it is. */
export const statusOf = (fault: Error): StatusError => (fault instanceof StatusError ? fault : internalError(fault));

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
