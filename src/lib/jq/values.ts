import { compareText } from "../data/compare-text.ts";
import { isObject } from "../data/json-object.ts";
import { weigh } from "../data/weigh.ts";

export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

/** An evaluation that cannot go on: a wrong type, or too much work. */
export class JqFault extends Error {
  override readonly name = "JqFault";
}

/** Some milliseconds at most. */
const maxRead = 200_000;

/** Stops an evaluation that takes too long. */
export class Meter {
  #left: number;
  #readable = maxRead;
  constructor(steps: number) {
    this.#left = steps;
  }
  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw new JqOverBudget("takes too many steps");
  }
  /** Before a function reads these values as a whole. */
  read(...values: readonly Json[]): void {
    for (const value of values) weigh(value, this.compare);
  }
  /** Before so many values, or sixteenths of the letters of texts, are looked at. */
  readonly compare = (values: number): void => {
    this.#readable -= values;
    if (this.#readable < 0) throw new JqOverBudget("reads too much");
  };
}

/** Unlike other faults, `?` and `//` do not hide it. */
export class JqOverBudget extends JqFault {}

export const typeOf = (value: Json): string => {
  if (value === null) return "null";
  if (Array.isArray(value)) return "list";
  return typeof value;
};

const ranks = ["null", "boolean", "number", "string", "list", "object"];

/** The order of all values: null, false, true, numbers, texts, lists, objects. */
export function order(left: Json, right: Json): number {
  const ranked = ranks.indexOf(typeOf(left)) - ranks.indexOf(typeOf(right));
  if (ranked !== 0) return ranked;
  if (typeof left === "string" && typeof right === "string") return compareText(left, right);
  if (Array.isArray(left) && Array.isArray(right)) return orderLists(left, right);
  if (isObject(left) && isObject(right)) return orderObjects(left as Fields, right as Fields);
  return Number(left) - Number(right);
}

type Fields = Readonly<Record<string, Json>>;

function orderLists(left: readonly Json[], right: readonly Json[]): number {
  for (const [at, one] of left.entries()) {
    if (at >= right.length) return 1;
    const found = order(one, right[at] ?? null);
    if (found !== 0) return found;
  }
  return left.length - right.length;
}

function orderObjects(left: Fields, right: Fields): number {
  const [ours, theirs] = [Object.keys(left).toSorted(compareText), Object.keys(right).toSorted(compareText)];
  const keys = orderLists(ours, theirs);
  if (keys !== 0) return keys;
  return orderLists(
    ours.map((key) => left[key] ?? null),
    ours.map((key) => right[key] ?? null),
  );
}
