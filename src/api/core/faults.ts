import { type FieldError, type FieldPath, invalidValue } from "#schema/field-error.ts";
import { type Rule } from "../meta/names.ts";

/** Where checks put what they find. Paths are only made for faults, so a sound object costs little. */
export type Faults = FieldError[];

/** Everything that the rule has against the value at `path.name`. */
export function judge(rule: Rule, value: string, path: FieldPath, name: string, faults: Faults): void {
  for (const detail of rule.all(value)) faults.push(invalidValue(path.child(name), value, detail));
}

/** The same for a value whose path is at hand. */
export function judgeAt(rule: Rule, value: string, path: FieldPath, faults: Faults): void {
  for (const detail of rule.all(value)) faults.push(invalidValue(path, value, detail));
}

/** A name that must be there and be well formed. The schema sees to "must be there". */
export function judgeIfSet(rule: Rule, value: string | undefined, path: FieldPath, name: string, faults: Faults): void {
  if (value) judge(rule, value, path, name, faults);
}

/** The same, one by one. */
export function* faultsOf(rule: Rule, value: string, path: FieldPath): Iterable<FieldError> {
  for (const fault of rule.all(value)) yield invalidValue(path, value, fault);
}
