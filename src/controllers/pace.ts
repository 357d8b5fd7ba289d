import { type ApiObject } from "#api/resource.ts";
import { type Clock } from "#lib/async/clock.ts";
import { objectKey } from "#runtime/object-cache.ts";

/** Objects with fewer parts than this are never delayed. */
const small = 200;
/** The delay of a large object, for each of its parts. */
const msPerPart = 0.05;

/**
 * Limits the work for a large object. Reading all of its 2,000 pods for every change is a waste if the next change
 * comes a millisecond later. So an object that needed no action is processed again only after a delay, unless its own
 * spec has changed.
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

  /** How long the object can wait; 0 if it must be processed now. */
  waitMs({ metadata }: ApiObject): number {
    const last = this.#settled.get(objectKey(metadata.namespace, metadata.name));
    if (!last || last.uid !== metadata.uid || last.generation !== (metadata.generation ?? 0)) return 0;
    return Math.max(0, last.untilMs - this.#clock.now());
  }

  /** It was processed: it has this many parts, and only its status had to be written. */
  settled({ metadata }: ApiObject, parts: number): void {
    const key = objectKey(metadata.namespace, metadata.name);
    if (parts < small || metadata.deletionTimestamp) {
      this.#settled.delete(key);
      return;
    }
    const untilMs = this.#clock.now() + parts * msPerPart;
    this.#settled.set(key, { uid: metadata.uid ?? "", generation: metadata.generation ?? 0, untilMs });
  }

  /** It is gone, or there is more to do: no delay next time. */
  forget({ namespace, name }: { readonly namespace?: string | undefined; readonly name?: string | undefined }): void {
    this.#settled.delete(objectKey(namespace, name));
  }
}
