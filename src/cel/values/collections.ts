import type { Type } from "../types/type.ts";
import { decoded } from "./decoded.ts";
import { normalize } from "./integer.ts";
import { Double, type Integer, Uint, type Value } from "./value.ts";

/** Turns what the data holds into a value. It is called when an expression reaches the data, not before. */
export type Convert = (data: unknown) => Value;

export type Equal = (a: Value, b: Value) => boolean;

/** A list: of values, of data that is converted when it is read, or two lists one after the other. */
export abstract class ListValue {
  abstract readonly length: number;
  abstract at(index: number): Value;
  /** Whether another list is equal, if the order of this one has no meaning. */
  equalTo?(other: ListValue, equal: Equal): boolean;
  /** This list with the elements of another, if elements are not just appended. */
  plus?(other: ListValue, equal: Equal): ListValue;

  /** The lists that this one is made of, in order. Long loops go over them, as finding an element may take some steps. */
  pieces(): Iterable<ListValue> {
    return [this];
  }

  [Symbol.iterator](): Iterator<Value> {
    let index = 0;
    return {
      next: () => (index < this.length ? { done: false, value: this.at(index++) } : { done: true, value: undefined }),
    };
  }
}

export class ArrayList extends ListValue {
  readonly items: readonly Value[];
  constructor(items: readonly Value[]) {
    super();
    this.items = items;
  }
  get length(): number {
    return this.items.length;
  }
  at(index: number): Value {
    return this.items[index] ?? null;
  }
}

/** A list of data, whose items become values one by one. */
export class DataList extends ListValue {
  readonly #items: readonly unknown[];
  readonly #convert: Convert;
  constructor(items: readonly unknown[], convert: Convert) {
    super();
    this.#items = items;
    this.#convert = convert;
  }
  get length(): number {
    return this.#items.length;
  }
  at(index: number): Value {
    return this.#convert(this.#items[index]);
  }
}

/** Lists up to this length are copied when they are joined, so that long ones are not made of tiny pieces. */
const maxCopied = 64;

/** Adding lists costs one step, however long they are: long ones are not copied. */
export function joinLists(first: ListValue, second: ListValue): ListValue {
  if (first.length === 0) return second;
  if (second.length === 0) return first;
  return first.length + second.length <= maxCopied
    ? new ArrayList([...first, ...second])
    : new JoinedList(first, second);
}

class JoinedList extends ListValue {
  readonly #first: ListValue;
  readonly #second: ListValue;
  readonly length: number;
  /** The piece that was read last, and where it begins: a loop reads piece by piece. */
  #piece: ListValue = new ArrayList([]);
  #start = 0;
  constructor(first: ListValue, second: ListValue) {
    super();
    this.#first = first;
    this.#second = second;
    this.length = first.length + second.length;
  }
  at(index: number): Value {
    const within = index - this.#start;
    return within >= 0 && within < this.#piece.length ? this.#piece.at(within) : this.#find(index);
  }
  /** Without recursion, because a list may be joined from very many. */
  override *pieces(): Iterable<ListValue> {
    const left: ListValue[] = [this];
    for (let list = left.pop(); list; list = left.pop()) {
      if (list instanceof JoinedList) left.push(list.#second, list.#first);
      else yield list;
    }
  }
  #find(index: number): Value {
    let list: ListValue = this;
    let rest = index;
    while (list instanceof JoinedList) {
      if (rest < list.#first.length) list = list.#first;
      else {
        rest -= list.#first.length;
        list = list.#second;
      }
    }
    this.#piece = list;
    this.#start = index - rest;
    return list.at(rest);
  }
}

/** The list that a comprehension builds. Only its own step sees it, so it may grow in place. */
export class GrowingList extends ListValue {
  readonly items: Value[] = [];
  get length(): number {
    return this.items.length;
  }
  at(index: number): Value {
    return this.items[index] ?? null;
  }
}

/** A key without its numeric type: 1, 1u and 1.0 are the same key. Undefined if the value is no key. */
export type Key = string | boolean | Integer;

export function keyOf(value: Value): Key | undefined {
  if (typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number" || typeof value === "bigint") return value;
  if (value instanceof Uint) return value.value;
  if (value instanceof Double && Number.isInteger(value.value)) return normalize(BigInt(value.value));
  return undefined;
}

export interface Entry {
  readonly key: Value;
  readonly value: Value;
}

export abstract class MapValue {
  abstract readonly size: number;
  /** The value, or undefined if the map lacks the key. */
  abstract get(key: Value): Value | undefined;
  abstract entries(): Iterable<Entry>;

  *keys(): Iterable<Value> {
    for (const { key } of this.entries()) yield key;
  }

  has(key: Value): boolean {
    return this.get(key) !== undefined;
  }
}

/** A map that an expression wrote. */
export class EntryMap extends MapValue {
  readonly content: Map<Key, Entry>;
  constructor(content: Map<Key, Entry>) {
    super();
    this.content = content;
  }
  get size(): number {
    return this.content.size;
  }
  get(key: Value): Value | undefined {
    const plain = keyOf(key);
    return plain === undefined ? undefined : this.content.get(plain)?.value;
  }
  entries(): Iterable<Entry> {
    return this.content.values();
  }
}

/** A JSON object as a map of strings. */
export class DataMap extends MapValue {
  readonly #data: Readonly<Record<string, unknown>>;
  readonly #convert: Convert;
  #size = -1;
  constructor(data: Readonly<Record<string, unknown>>, convert: Convert) {
    super();
    this.#data = data;
    this.#convert = convert;
  }
  get size(): number {
    if (this.#size < 0) this.#size = decoded.keysOf(this.#data).length;
    return this.#size;
  }
  get(key: Value): Value | undefined {
    if (typeof key !== "string" || !Object.hasOwn(this.#data, key)) return undefined;
    return this.#convert(this.#data[key]);
  }
  *entries(): Iterable<Entry> {
    for (const key of decoded.keysOf(this.#data)) yield { key, value: this.#convert(this.#data[key]) };
  }
  override keys(): Iterable<Value> {
    return decoded.keysOf(this.#data);
  }
}

/** The map that a comprehension builds, see GrowingList. */
export class GrowingMap extends EntryMap {
  constructor() {
    super(new Map());
  }
}

/** An object with declared fields. */
export abstract class ObjectValue {
  abstract readonly type: Type;
  /** How many fields it has. */
  abstract readonly size: number;
  /** The value of a field, undefined if the object does not have it. */
  abstract get(field: string): Value | undefined;
  abstract has(field: string): boolean;
  abstract equals(other: ObjectValue, equal: Equal): boolean;
}
