import { type Cursor } from "../cursor.ts";
import { percent } from "./names.ts";

export type IntOrString = number | string;

/** The number that an integer or a percentage of `total` stands for; undefined if it is neither. */
export function scaledValue(value: IntOrString, total: number, round: "up" | "down"): number | undefined {
  if (typeof value === "number") return value;
  const parts = percentOf(value);
  if (parts === undefined) return undefined;
  const exact = (parts * total) / 100;
  return round === "up" ? Math.ceil(exact) : Math.floor(exact);
}

/** The 25 of `25%`. */
export const percentOf = (value: string): number | undefined =>
  /^[-+]?\d+%$/.test(value) ? Number(value.slice(0, -1)) : undefined;

/** An integer that is not negative, or a percentage. */
export function validateIntOrPercent(at: Cursor<IntOrString>): void {
  if (typeof at.value === "number") at.atLeast(0);
  else if (typeof at.value === "string") at.invalid(percent(at.value));
  else at.wrongType("must be an integer or percentage (e.g '5%%')");
}

export function validateAtMost100Percent(at: Cursor<IntOrString>): void {
  const parts = typeof at.value === "string" ? percentOf(at.value) : undefined;
  if (parts !== undefined && parts > 100) at.invalid("must not be greater than 100%");
}
