import { optional, present } from "#schema/fields.ts";
import { type Fields, type Infer, object } from "#schema/schema.ts";
import { int64, string, time } from "#schema/types.ts";
import { type Cursor } from "../cursor.ts";
import { qualifiedName, regexMessage } from "./names.ts";

export const Condition = object("meta/v1.Condition", "One aspect of the current state of an object.", {
  type: present(1, string(), "Type of the condition, in CamelCase."),
  status: present(2, string(), "Status of the condition: True, False or Unknown."),
  observedGeneration: optional(3, int64(), "Generation of the object that the condition was computed from."),
  lastTransitionTime: present(4, time(), "When the status of the condition last changed."),
  reason: present(5, string(), "Reason for the last change of the condition, as one CamelCase word."),
  message: present(6, string(), "Details about the last change of the condition, for people."),
});
export interface Condition extends Infer<typeof Condition> {}

/** Protobuf numbers of `lastTransitionTime`, `reason` and `message`. */
type ConditionTags = readonly [time: number, reason: number, message: number];

/** The conditions of a kind that is older than `Condition`, with the types that they have. */
export const conditionOf = <M extends Fields = Record<never, never>>(
  name: string,
  types: string,
  [timeTag, reasonTag, messageTag]: ConditionTags,
  more?: M,
) =>
  object(name, "One aspect of the state of an object at a certain time.", {
    type: present(1, string(), `Type of the condition: ${types}.`),
    status: present(2, string(), "Status of the condition: True, False or Unknown."),
    ...(more as M),
    lastTransitionTime: optional(timeTag, time(), "When the status of the condition last changed."),
    reason: optional(reasonTag, string(), "Reason for the last change of the condition, as one CamelCase word."),
    message: optional(messageTag, string(), "Details about the last change of the condition, for people."),
  });

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

export function validateCondition(at: Cursor<Condition>): void {
  const { observedGeneration = 0, reason, message } = at.value;
  at.field("type").rule(qualifiedName);
  at.field("status").oneOf(["False", "True", "Unknown"]);
  if (observedGeneration < 0) at.field("observedGeneration").invalid("must be greater than or equal to zero");
  at.field("lastTransitionTime").required();
  if (at.field("reason").required() && !reasonPattern.test(reason)) at.field("reason").invalid(reasonMismatch);
  if (reason && Buffer.byteLength(reason) > 1024) at.field("reason").tooLong(1024);
  if (message && Buffer.byteLength(message) > 32768) at.field("message").tooLong(32768);
}

/** Checks each condition of an object, and that no type occurs twice. */
export function validateConditions(at: Cursor<{ conditions?: Condition[] }>): void {
  const types = new Set<string>();
  at.each("conditions", (condition) => {
    condition.field("type").unique(types);
    validateCondition(condition);
  });
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
