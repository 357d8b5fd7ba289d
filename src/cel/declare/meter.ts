import { decoded } from "../values/decoded.ts";

/** Ends an evaluation that cost too much. It is thrown, not returned, so that no operator can absorb it. */
export class CostExceeded extends Error {
  constructor() {
    super("operation cancelled: actual cost limit exceeded");
  }
}

/** Characters or bytes that weigh as much as one unit of work, as in the cost of functions that read text. */
const sizePerUnit = 10;
/** Shorter texts are covered by what every call costs. */
const freeLength = 1000;

/**
 * What one evaluation has used. `cost` is counted exactly as Kubernetes counts it, and the caller may rely on it.
 * `work` covers what that count does not see, such as comparing deep lists: it stops the evaluation, nothing else.
 */
export class Meter {
  cost = 0;
  #work = 0;
  readonly limit: number;
  /** Work and conversions of data share one budget: this is what the latter may reach, and work lowers it. */
  #mostDecoded: number;

  constructor(limit: number) {
    this.limit = limit;
    decoded.forget();
    this.#mostDecoded = decoded.characters + limit * sizePerUnit;
  }

  /** All work so far. */
  get worked(): number {
    return this.#work;
  }

  spend(cost: number): void {
    this.cost += cost;
    if (this.cost > this.limit || decoded.characters > this.#mostDecoded) throw new CostExceeded();
  }

  work(units: number): void {
    this.#work += units;
    this.#mostDecoded -= units * sizePerUnit;
    if (decoded.characters > this.#mostDecoded) throw new CostExceeded();
  }

  /** Must be called before text or bytes of this size are made. */
  allocate(size: number): void {
    this.work(size / sizePerUnit);
  }

  /** Must be called before a value is compared or hashed: a text may be long. Short ones are part of every call. */
  read(value: unknown): void {
    if ((typeof value === "string" || value instanceof Uint8Array) && value.length > freeLength)
      this.allocate(value.length);
  }
}
