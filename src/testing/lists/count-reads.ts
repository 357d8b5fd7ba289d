/** How often the items of each list of a value were read, by path: `spec.containers[].ports`. */
export class ReadCounts {
  readonly #counters = new Map<string, Counter>();

  /** Counts the reads of this value from now on. The fields of an item count as reads of its list. */
  watch<T extends object>(value: T): T {
    return this.#watch(value, "", this.#counter("")) as T;
  }
  of(path: string): number {
    return this.#counters.get(path)?.reads ?? 0;
  }
  paths(): string[] {
    return [...this.#counters.keys()];
  }

  #watch(value: unknown, path: string, around: Counter): unknown {
    if (typeof value !== "object" || value === null) return value;
    const isList = Array.isArray(value);
    const counter = isList ? this.#counter(path) : around;
    for (const [key, member] of Object.entries(value)) {
      if (typeof member !== "object") continue;
      const below = isList ? `${path}[]` : path === "" ? key : `${path}.${key}`;
      Object.assign(value, { [key]: this.#watch(member, below, counter) });
    }
    return new Proxy(value, counter);
  }

  #counter(path: string): Counter {
    const known = this.#counters.get(path) ?? new Counter();
    this.#counters.set(path, known);
    return known;
  }
}

/** Counts what goes through it as the handler of a Proxy. */
class Counter implements ProxyHandler<object> {
  reads = 0;

  get(target: object, key: PropertyKey, receiver: unknown): unknown {
    this.reads++;
    return Reflect.get(target, key, receiver);
  }
  has(target: object, key: PropertyKey): boolean {
    this.reads++;
    return Reflect.has(target, key);
  }
  getOwnPropertyDescriptor(target: object, key: PropertyKey): PropertyDescriptor | undefined {
    this.reads++;
    return Reflect.getOwnPropertyDescriptor(target, key);
  }
}
