import { type ApiObject } from "#api/resource.ts";
import { type Clock } from "#lib/async/clock.ts";
import { objectKey } from "#runtime/object-cache.ts";

/** Objects with fewer parts than this are never held back. */
const small = 200;
/** A large one is looked at again after this much time for each part. */
const msPerPart = 0.05;

/**
 * Keeps the work for a large object in proportion. Looking at all of 2,000 pods because one of them changed is a waste
 * if the next changes a millisecond later: one that was found settled is looked at again after a while, unless its own
 * wishes have changed.
 */
export class Pace {
  readonly #clock: Clock;
  readonly #settled = new Map<
    string,
    { readonly uid: string; readonly generation: number; readonly untilMs: number }
  >();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How long the object can wait; 0 if it is to be looked at now. */
  waitMs({ metadata }: ApiObject): number {
    const last = this.#settled.get(objectKey(metadata.namespace, metadata.name));
    if (!last || last.uid !== metadata.uid || last.generation !== (metadata.generation ?? 0)) return 0;
    return Math.max(0, last.untilMs - this.#clock.now());
  }

  /** It was looked at: this many parts, and nothing but its status to do. */
  settled({ metadata }: ApiObject, parts: number): void {
    const key = objectKey(metadata.namespace, metadata.name);
    if (parts < small || metadata.deletionTimestamp) {
      this.#settled.delete(key);
      return;
    }
    const untilMs = this.#clock.now() + parts * msPerPart;
    this.#settled.set(key, { uid: metadata.uid ?? "", generation: metadata.generation ?? 0, untilMs });
  }

  /** It is gone, or there is something to do: next time at once. */
  forget({ namespace, name }: { readonly namespace?: string | undefined; readonly name?: string | undefined }): void {
    this.#settled.delete(objectKey(namespace, name));
  }
}
