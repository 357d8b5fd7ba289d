import { type StreamedChange } from "./follow.ts";
import { type Prepared } from "./transaction.ts";

/** Writes of this process that etcd has not answered yet. */
export class InFlight {
  readonly #values = new Map<string, Uint8Array[]>();
  #writes = 0;

  /** How many writes there are. */
  get size(): number {
    return this.#writes;
  }

  /** Returns the function that ends it. */
  add(changes: readonly Prepared[]): () => void {
    this.#writes++;
    for (const { key, value } of changes) {
      if (!value) continue;
      const values = this.#values.get(key);
      if (values) values.push(value);
      else this.#values.set(key, [value]);
    }
    return () => this.#end(changes);
  }

  /**
   * The stream may report a write of our own before it is answered. It gets the bytes that the writer holds, by which the
   * server knows what it has written, and why.
   */
  recognize(change: StreamedChange): StreamedChange {
    const { key, value } = change;
    if (!value) return change;
    const own = this.#values.get(key)?.find((mine) => Buffer.compare(mine, value) === 0);
    return own ? { ...change, value: own } : change;
  }

  #end(changes: readonly Prepared[]): void {
    this.#writes--;
    for (const { key, value } of changes) {
      const left = this.#values.get(key)?.filter((other) => other !== value);
      if (left && left.length > 0) this.#values.set(key, left);
      else this.#values.delete(key);
    }
  }
}
