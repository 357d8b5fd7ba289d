import { optional, present } from "#schema/fields.ts";
import { type Fields, type Infer, object } from "#schema/schema.ts";
import { int64, string, time } from "#schema/types.ts";
import { type Cursor } from "../cursor.ts";
import { qualifiedName, regexMessage } from "./names.ts";

export const Condition = object("meta/v1.Condition", "Describes one aspect of the current state of an object.", {
  type: present(1, string(), "What the condition is about, in CamelCase."),
  status: present(2, string(), "Status of the condition, one of True, False, Unknown."),
  observedGeneration: optional(3, int64(), "The generation of the object that the condition speaks of."),
  lastTransitionTime: present(4, time(), "When the status last changed from one value to another."),
  reason: present(5, string(), "One word in CamelCase for why it has this status."),
  message: present(6, string(), "Details about the last change, for a person to read."),
});
export interface Condition extends Infer<typeof Condition> {}

interface ConditionForm<M extends Fields> {
  /** Protobuf numbers of the fields that all such conditions have. */
  readonly tags: { readonly lastTransitionTime: number; readonly reason: number; readonly message: number };
  /** Fields of this kind's conditions only. */
  readonly more?: M;
}

/** The conditions of a kind that is older than `Condition`: `conditionOf("apps/v1.ReplicaSetCondition", types, form)`. */
export function conditionOf<M extends Fields = Record<never, never>>(
  name: string,
  types: string,
  { tags, more }: ConditionForm<M>,
) {
  return object(name, "Describes the state of an object at a certain point.", {
    type: present(1, string(), types),
    status: present(2, string(), "Status of the condition, one of True, False, Unknown."),
    ...(more as M),
    lastTransitionTime: optional(tags.lastTransitionTime, time(), "When the condition last changed its status."),
    reason: optional(tags.reason, string(), "The reason for the last change, in one CamelCase word."),
    message: optional(tags.message, string(), "Details about the last change, for a person to read."),
  });
}

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
