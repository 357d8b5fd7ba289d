import { compareText } from "../data/compare-text.ts";
import { TemplateFault } from "./faults.ts";
import { Numeral, textOf, typeOf, type Value } from "./values.ts";

type Basic = boolean | number | string;

/** The pair in one type. A number of the data compares with texts and with numbers. */
function alike(left: Value, right: Value): readonly [Basic, Basic] | undefined {
  if (typeof left === "number" && right instanceof Numeral) return [left, Number(right.text)];
  if (left instanceof Numeral && typeof right === "number") return [Number(left.text), right];
  const [first, second] = [textOf(left), textOf(right)];
  if (first !== undefined && second !== undefined) return [first, second];
  if (typeof left === "number" && typeof right === "number") return [left, right];
  if (typeof left === "boolean" && typeof right === "boolean") return [left, right];
  return undefined;
}

/** Whether the first value equals one of the others. */
export function equalsOneOf([first = null, ...others]: readonly Value[]): boolean {
  return others.some((other) => {
    if (first === null || other === null) return first === other;
    const pair = alike(first, other);
    if (!pair) throw new TemplateFault(`incompatible types for comparison: ${typeOf(first)} and ${typeOf(other)}`);
    return pair[0] === pair[1];
  });
}

/** Negative, zero or positive. */
export function compare([left = null, right = null]: readonly Value[]): number {
  const pair = alike(left, right);
  if (!pair || typeof pair[0] === "boolean") {
    throw new TemplateFault(`invalid type for comparison: ${typeOf(left)} and ${typeOf(right)}`);
  }
  const [first, second] = pair;
  if (typeof first === "string" && typeof second === "string") return compareText(first, second);
  return Number(first) - Number(second);
}
