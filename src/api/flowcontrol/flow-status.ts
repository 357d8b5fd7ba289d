import { type Cursor } from "#api/cursor.ts";
import { type ApiObject } from "#api/resource.ts";
import { optional } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { listByKey, string, time } from "#schema/types.ts";

const object = inPackage("flowcontrol/v1");

/** The status of FlowSchema or PriorityLevelConfiguration, which differ only in their names. */
export function statusOf(kind: string, types: string) {
  const Condition = object(`${kind}Condition`, `One aspect of the state of a ${kind} at a certain time.`, {
    type: optional(1, string(), `Type of the condition: ${types}.`),
    status: optional(2, string(), "Status of the condition: True, False or Unknown."),
    lastTransitionTime: optional(3, time(), "When the status of the condition last changed."),
    reason: optional(4, string(), "Reason for the last change of the condition, as one CamelCase word."),
    message: optional(5, string(), "Details about the last change of the condition, for people."),
  });
  return object(`${kind}Status`, `The observed state of a ${kind}.`, {
    conditions: optional(1, listByKey("type", Condition), `Conditions of the ${kind}, one for each type.`),
  });
}
type FlowStatus = Infer<ReturnType<typeof statusOf>>;

/** A write of the status changes nothing of the metadata, except who owns which field. */
export const statusResets = { metadata: true, spec: true } as const;
export function keepMetadata(object: ApiObject, old: ApiObject): void {
  const { managedFields } = object.metadata;
  const { managedFields: _, ...metadata } = old.metadata;
  object.metadata = managedFields ? { ...metadata, managedFields } : metadata;
}

export function validateStatus(object: Cursor<{ status: FlowStatus }>): void {
  const seen = new Set<string>();
  object.field("status").each("conditions", (at) => {
    const type = at.field("type").as(at.value.type ?? "");
    type.unique(seen);
    type.required();
  });
}
