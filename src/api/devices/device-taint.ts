import { labelValue, qualifiedName } from "#api/meta/names.ts";
import { defaulted, nullable, optional, present, stated } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { int64, oneOf, string, time } from "#schema/types.ts";
import { type Cursor } from "../cursor.ts";

const object = inPackage("resource/v1");

const effectNames = ["NoExecute", "NoSchedule", "None"] as const;
const effects = oneOf(...effectNames);
const operatorNames = ["Equal", "Exists"] as const;

export const DeviceTaint = object("DeviceTaint", "Keeps claims off a device unless they tolerate it.", {
  key: present(1, string(), "Key of the taint: a label name."),
  value: optional(2, string(), "Value of the taint: a label value."),
  effect: present(3, effects, "What the taint does to claims that do not tolerate it: None, NoSchedule or NoExecute."),
  timeAdded: nullable(4, time(), "When the taint was added. Set by the server if absent."),
});
export interface DeviceTaint extends Infer<typeof DeviceTaint> {}

export const DeviceToleration = object("DeviceToleration", "Lets a claim use devices with a matching taint.", {
  key: optional(1, string(), "Key of the taint. Empty with the operator Exists matches every taint."),
  operator: stated(
    defaulted(2, oneOf(...operatorNames), "Equal", "How the taint's value is compared: Equal or Exists."),
  ),
  value: optional(3, string(), "Value of the taint, for the operator Equal."),
  effect: optional(4, effects, "Effect of the taint; all effects if empty."),
  tolerationSeconds: nullable(5, int64(), "Seconds that a NoExecute taint is tolerated; for ever if absent."),
});
export interface DeviceToleration extends Infer<typeof DeviceToleration> {}

/** The schema has checked the effect, unless there is none. */
export function validateTaint(at: Cursor<DeviceTaint>): void {
  at.field("key").rule(qualifiedName);
  at.set("value")?.rule(labelValue);
  at.field("effect").required();
}

export function validateToleration(at: Cursor<DeviceToleration>): void {
  at.set("key")?.rule(qualifiedName);
  if (at.value.operator === "Equal") at.set("value")?.rule(labelValue);
  else if (at.value.operator === "Exists") at.set("value")?.invalid("must be empty for operator `Exists`");
}

/** What the schema checks of a toleration, for the status: there it is checked only when the claim itself is written. */
export function validateTolerationChoices(at: Cursor<DeviceToleration>): void {
  at.set("operator")?.oneOf(operatorNames);
  at.set("effect")?.oneOf(effectNames);
}
