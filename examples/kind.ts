import { ageColumn, column } from "#api/meta/columns.ts";
import { defineResource, type NamespacedObject } from "#api/resource.ts";
import { defaulted, embedded, nullable, optional, required } from "#schema/fields.ts";
import { inPackage } from "#schema/schema.ts";
import { int32, oneOf, setOf, string, time } from "#schema/types.ts";

const object = inPackage("example/v1");

const AlarmSpec = object("AlarmSpec", "When an alarm rings, and how.", {
  at: required(1, string(), "When it rings: 07:30."),
  sound: defaulted(2, oneOf("Bell", "Horn"), "Bell", "What it sounds like."),
  snoozeMinutes: nullable(3, int32({ min: 1, max: 60 }), "Rings again after this many minutes."),
  days: optional(4, setOf(string(), { patch: "merge" }), "Rings only on these days; every day if empty."),
});

const AlarmStatus = object("AlarmStatus", "What an alarm has done.", {
  lastRangAt: optional(1, time(), "When it last rang."),
});

const fields = { spec: embedded(2, AlarmSpec), status: embedded(3, AlarmStatus) };
export interface Alarm extends NamespacedObject<typeof fields> {}

/** Rings at a time of the day. */
export const Alarm = defineResource("example.dev/v1.Alarm", fields, {
  doc: "Rings at a time of the day.",
  shortNames: ["al"],
  hasGeneration: true,
  withStatus: () => ({}),
  columns: [column("At", "When it rings.", ({ spec }) => spec.at), ageColumn],

  validate(alarm) {
    const at = alarm.field("spec").set("at");
    if (at && !/^([01]\d|2[0-3]):[0-5]\d$/.test(at.value)) at.invalid("must be a time of the day, such as 07:30");
  },
});
