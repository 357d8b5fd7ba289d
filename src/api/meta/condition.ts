import {
  duplicateValue,
  type FieldError,
  type FieldPath,
  invalidValue,
  requiredValue,
  tooLong,
  unsupportedValue,
} from "#schema/field-error.ts";
import { type Infer, int64, object, optional, present, string, time } from "#schema/schema.ts";
import { qualifiedName, regexMessage } from "./names.ts";

export const Condition = object(
  "meta/v1.Condition",
  {
    type: present(1, string(), "What the condition is about, in CamelCase."),
    status: present(2, string(), "True, False or Unknown."),
    observedGeneration: optional(3, int64(), "The generation of the object that the condition speaks of."),
    lastTransitionTime: present(4, time(), "When the status last changed from one value to another."),
    reason: present(5, string(), "One word in CamelCase for why it has this status."),
    message: present(6, string(), "The same for people, in a sentence."),
  },
  { doc: "One aspect of the present state of an object." },
);
export interface Condition extends Infer<typeof Condition> {}

const reasonFormat = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?";
const reasonPattern = new RegExp(`^${reasonFormat}$`);
const reasonMismatch = regexMessage(
  "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'",
  reasonFormat,
  "my_name",
  "MY_NAME",
  "MyName",
  "ReasonA,ReasonB",
  "ReasonA:ReasonB",
);

export function* validateConditions(conditions: readonly Condition[], path: FieldPath): Iterable<FieldError> {
  const seen = new Set<string>();
  for (const [index, condition] of conditions.entries()) {
    const at = path.index(index);
    if (seen.has(condition.type)) yield duplicateValue(at.child("type"), condition.type);
    seen.add(condition.type);
    yield* validateCondition(condition, at);
  }
}

export function* validateCondition(condition: Condition, path: FieldPath): Iterable<FieldError> {
  const { type, status, observedGeneration = 0, lastTransitionTime, reason, message } = condition;
  for (const fault of qualifiedName.all(type)) yield invalidValue(path.child("type"), type, fault);
  if (!["True", "False", "Unknown"].includes(status)) {
    yield unsupportedValue(path.child("status"), status, ["False", "True", "Unknown"]);
  }
  if (observedGeneration < 0) {
    yield invalidValue(path.child("observedGeneration"), observedGeneration, "must be greater than or equal to zero");
  }
  if (!lastTransitionTime) yield requiredValue(path.child("lastTransitionTime"));
  if (!reason) yield requiredValue(path.child("reason"));
  else if (!reasonPattern.test(reason)) yield invalidValue(path.child("reason"), reason, reasonMismatch);
  if (reason && Buffer.byteLength(reason) > 1024) yield tooLong(path.child("reason"), 1024);
  if (message && Buffer.byteLength(message) > 32768) yield tooLong(path.child("message"), 32768);
}

/** The parts that conditions of all kinds share. */
interface AnyCondition {
  type: string;
  status: string;
}

export const findCondition = <C extends AnyCondition>(
  conditions: readonly C[] | undefined,
  type: string,
): C | undefined => conditions?.find((condition) => condition.type === type);
export const isConditionTrue = (conditions: readonly AnyCondition[] | undefined, type: string): boolean =>
  findCondition(conditions, type)?.status === "True";

/** A copy of the list with this condition in place of the one of its type, or at the end. */
export function withCondition<C extends AnyCondition>(conditions: readonly C[] | undefined, condition: C): C[] {
  const list = [...(conditions ?? [])];
  const index = list.findIndex(({ type }) => type === condition.type);
  if (index < 0) list.push(condition);
  else list[index] = condition;
  return list;
}
