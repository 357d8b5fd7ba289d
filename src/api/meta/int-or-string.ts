import { type FieldError, type FieldPath, invalidValue, typeInvalid } from "#schema/field-error.ts";
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
export function* validateIntOrPercent(value: IntOrString, path: FieldPath): Iterable<FieldError> {
  if (typeof value === "number") {
    if (value < 0) yield invalidValue(path, value, "must be greater than or equal to 0");
  } else if (typeof value === "string") {
    const fault = percent(value);
    if (fault) yield invalidValue(path, value, fault);
  } else {
    yield typeInvalid(path, value, "must be an integer or percentage (e.g '5%%')");
  }
}

export function* validateAtMost100Percent(value: IntOrString, path: FieldPath): Iterable<FieldError> {
  const parts = typeof value === "string" ? percentOf(value) : undefined;
  if (parts !== undefined && parts > 100) yield invalidValue(path, value, "must not be greater than 100%");
}
