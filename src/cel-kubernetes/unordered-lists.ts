import { type Convert, type Equal, ListValue } from "#cel/values/collections.ts";
import type { Value } from "#cel/values/value.ts";

/** A list of which only the content counts: `x-kubernetes-list-type: set` or `map`. */
export class UnorderedList extends ListValue {
  readonly #items: readonly unknown[];
  readonly #convert: Convert;
  readonly #identify: (item: unknown) => unknown;
  #byIdentity: Map<unknown, unknown> | undefined;

  /** Items of the same identity are the same element. */
  constructor(items: readonly unknown[], convert: Convert, identify: (item: unknown) => unknown) {
    super();
    this.#items = items;
    this.#convert = convert;
    this.#identify = identify;
  }

  get length(): number {
    return this.#items.length;
  }

  at(index: number): Value {
    return this.#convert(this.#items[index]);
  }

  override equalTo(other: ListValue, equal: Equal): boolean {
    if (!(other instanceof UnorderedList)) return this.#equalInOrder(other, equal);
    const items = other.#index();
    return this.#items.every((item) => {
      const key = this.#identify(item);
      return items.has(key) && equal(this.#convert(item), other.#convert(items.get(key)));
    });
  }

  /** Elements that are in both are taken from the other list, at the place that they have here. */
  override plus(other: ListValue, equal: Equal): ListValue {
    if (other instanceof UnorderedList) {
      const merged = new Map(this.#index());
      for (const item of other.#items) merged.set(this.#identify(item), item);
      return new UnorderedList([...merged.values()], this.#convert, this.#identify);
    }
    const values: Value[] = [...this];
    for (const value of other) if (!values.some((known) => equal(known, value))) values.push(value);
    return new UnorderedValues(values);
  }

  #index(): Map<unknown, unknown> {
    this.#byIdentity ??= new Map(this.#items.map((item) => [this.#identify(item), item]));
    return this.#byIdentity;
  }

  /** A list that an expression wrote has no identities: each of its elements must be somewhere here. */
  #equalInOrder(other: ListValue, equal: Equal): boolean {
    const values = [...other];
    return [...this].every((mine) => values.some((value) => equal(mine, value)));
  }
}

/** The result of adding a written list to an unordered one. */
class UnorderedValues extends ListValue {
  readonly #values: readonly Value[];
  constructor(values: readonly Value[]) {
    super();
    this.#values = values;
  }
  get length(): number {
    return this.#values.length;
  }
  at(index: number): Value {
    return this.#values[index] ?? null;
  }
}

/** An element of a set is identified by its content: a plain one by itself, another by its text, which is no plain element. */
export const identityOfContent = (item: unknown): unknown =>
  typeof item === "object" && item !== null ? `\0${JSON.stringify(item)}` : item;

/** An element of a map by its keys. There may be thousands, so only the members that it has are looked at. */
export function identityOfKeys(keys: readonly string[]): (item: unknown) => string {
  const names = new Set(keys);
  return (item) => {
    const members = Object.entries(item ?? {}).filter(([name, value]) => names.has(name) && value !== null);
    return JSON.stringify(members.sort(([a], [b]) => (a < b ? -1 : 1)));
  };
}
