import { ageColumn } from "#api/meta/columns.ts";
import { dns1123Subdomain } from "#api/meta/names.ts";
import { defineResource, type ObjectOf } from "#api/resource.ts";
import { invalidValue, root } from "#schema/field-error.ts";
import { defaulted, int32, list, nullable, object, oneOf, optional, required, string } from "#schema/schema.ts";

const AlarmSpec = object(
  "example/v1.AlarmSpec",
  {
    at: required(1, string(), "When it rings: 07:30."),
    sound: defaulted(2, oneOf("Bell", "Horn"), "Bell", "What it sounds like."),
    snoozeMinutes: nullable(3, int32({ min: 1, max: 60 }), "It rings again after so many minutes."),
    days: optional(4, list(string(), { list: "set", patch: "merge" }), "Only on these days; empty: every day."),
  },
  { doc: "When an alarm rings, and how." },
);

const fields = { spec: required(2, AlarmSpec, "When it rings, and how.") };
export interface Alarm extends ObjectOf<typeof fields> {}

/** Rings at a time of the day. */
export const Alarm = defineResource({
  group: "example.dev",
  version: "v1",
  kind: "Alarm",
  plural: "alarms",
  package: "example/v1",
  scope: "Namespaced",
  doc: "Rings at a time of the day.",
  fields,
  hasGeneration: true,
  columns: [{ name: "At", type: "string", description: "When it rings.", value: ({ spec }) => spec.at }, ageColumn],
  nameRule: dns1123Subdomain,

  *validate({ spec }) {
    if (spec.at && !/^([01]\d|2[0-3]):[0-5]\d$/.test(spec.at)) {
      yield invalidValue(root.child("spec", "at"), spec.at, "must be a time of the day, such as 07:30");
    }
  },
});
