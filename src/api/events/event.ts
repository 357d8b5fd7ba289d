import { Event, EventSource, eventColumns, type SentEvent, validateEvent } from "#api/core/event.ts";
import { ObjectReference } from "#api/core/references.ts";
import { semanticEqual } from "#api/meta/equal.ts";
import { embedded, nullable, optional } from "#schema/fields.ts";
import { inPackage } from "#schema/schema.ts";
import { int32, microTime, string, time } from "#schema/types.ts";
import { type Cursor } from "../cursor.ts";
import { type Column, defineResource, type ObjectOf } from "../resource.ts";

const object = inPackage("events/v1");

export const EventSeries = object("EventSeries", "How often something happened again.", {
  count: optional(1, int32(), "How often so far, at least twice."),
  lastObservedTime: optional(2, microTime(), "When it last happened."),
});

const fields = {
  eventTime: optional(2, microTime(), "When it first happened."),
  series: nullable(3, EventSeries, "Set once it has happened again."),
  reportingController: optional(4, string(), "The controller that saw it, such as kubernetes.io/kubelet."),
  reportingInstance: optional(5, string(), "Which instance of the controller saw it."),
  action: optional(6, string(), "What was done or tried."),
  reason: optional(7, string(), "Why it was done, in one word."),
  regarding: embedded(8, ObjectReference, "What it happened to."),
  related: nullable(9, ObjectReference, "Another object that has to do with it."),
  note: optional(10, string(), "What happened, in a sentence."),
  type: optional(11, string(), "Normal or Warning."),
  deprecatedSource: embedded(12, EventSource, "The older form's source."),
  deprecatedFirstTimestamp: optional(13, time(), "The older form's firstTimestamp."),
  deprecatedLastTimestamp: optional(14, time(), "The older form's lastTimestamp."),
  deprecatedCount: optional(15, int32(), "The older form's count."),
};
interface SentEventV1 extends ObjectOf<typeof fields> {}

/** The newer form of the same events: stored as core/v1. */
export const eventsV1 = defineResource("events.k8s.io/v1.Event", fields, {
  shortNames: ["ev"],
  createOnUpdate: true,
  freeFinalizers: true,
  ttlSeconds: 3600,
  hasNoDependents: true,
  isUntraced: true,
  doc: "Something that happened to an object.",
  columns: eventColumns.map(
    (column): Column<SentEventV1> => ({ ...column, value: (event, now) => column.value(toStored(event), now) }),
  ),
  selectableFields: {
    "regarding.kind": (event) => event.regarding.kind,
    "regarding.namespace": (event) => event.regarding.namespace,
    "regarding.name": (event) => event.regarding.name,
    "regarding.uid": (event) => event.regarding.uid,
    "regarding.apiVersion": (event) => event.regarding.apiVersion,
    "regarding.resourceVersion": (event) => event.regarding.resourceVersion,
    "regarding.fieldPath": (event) => event.regarding.fieldPath,
    reason: (event) => event.reason,
    reportingController: (event) => event.reportingController,
    type: (event) => event.type,
  },
  storedAs: { resource: Event, toStored, fromStored },

  validate(event) {
    const at = event.as(toStored(event.value));
    validateEvent(at, "reportingController");
    if (!event.value.metadata.resourceVersion) validateNew(at);
  },
  validateUpdate: (event, old) => validateChange(event.as(toStored(event.value)), toStored(old)),
});

export function toStored(event: SentEventV1): SentEvent {
  const { regarding, note, reportingController, reportingInstance } = event;
  const { deprecatedSource, deprecatedFirstTimestamp, deprecatedLastTimestamp, deprecatedCount, ...same } = event;
  const { regarding: _r, note: _n, reportingController: _c, ...kept } = same;
  return {
    ...kept,
    kind: "Event",
    apiVersion: "v1",
    involvedObject: regarding,
    source: deprecatedSource,
    reportingComponent: reportingController ?? "",
    reportingInstance: reportingInstance ?? "",
    ...(note === undefined ? {} : { message: note }),
    ...(deprecatedFirstTimestamp === undefined ? {} : { firstTimestamp: deprecatedFirstTimestamp }),
    ...(deprecatedLastTimestamp === undefined ? {} : { lastTimestamp: deprecatedLastTimestamp }),
    ...(deprecatedCount === undefined ? {} : { count: deprecatedCount }),
  };
}

export function fromStored(stored: SentEvent): SentEventV1 {
  const { involvedObject, message, source, firstTimestamp, lastTimestamp, count, ...same } = stored;
  const { reportingComponent, reportingInstance, ...kept } = same;
  return {
    ...kept,
    kind: "Event",
    apiVersion: "events.k8s.io/v1",
    regarding: involvedObject,
    deprecatedSource: source,
    ...(message === undefined ? {} : { note: message }),
    ...(reportingComponent ? { reportingController: reportingComponent } : {}),
    ...(reportingInstance ? { reportingInstance } : {}),
    ...(firstTimestamp === undefined ? {} : { deprecatedFirstTimestamp: firstTimestamp }),
    ...(lastTimestamp === undefined ? {} : { deprecatedLastTimestamp: lastTimestamp }),
    ...(count === undefined ? {} : { deprecatedCount: count }),
  };
}

/** A new event may not use what only the older form has. */
function validateNew(at: Cursor<SentEvent>): void {
  const { type = "", source, firstTimestamp, lastTimestamp, count } = at.value;
  validateSeries(at);
  at.field("eventTime").required();
  if (type !== "Normal" && type !== "Warning") at.field("type").invalid(`has invalid value: ${type}`, "");
  const unset = { firstTimestamp, lastTimestamp, count, source: source.component || source.host };
  for (const [name, value] of Object.entries(unset)) if (value) at.under(name).invalid("needs to be unset", "");
}

function validateSeries(event: Cursor<SentEvent>): void {
  event.on("series", (at) => {
    if ((at.value.count ?? 0) < 2) at.field("count").invalid("should be at least 2", "");
    at.field("lastObservedTime").required();
  });
}

/** All but the series; what is told under another name has it here. */
const frozen: readonly (readonly [name: keyof Event, shownAs?: string])[] = [
  ["involvedObject"],
  ["reason"],
  ["message"],
  ["source"],
  ["firstTimestamp"],
  ["lastTimestamp"],
  ["count"],
  ["type"],
  ["eventTime"],
  ["action"],
  ["related"],
  ["reportingComponent", "reportingController"],
  ["reportingInstance"],
];

/** Only the series of an event goes on. */
function validateChange(event: Cursor<SentEvent>, old: SentEvent): void {
  const { value } = event;
  const isSame = (name: keyof Event): boolean => {
    const field = Event.schema.fields[name];
    if ((value[name] ?? "") === (old[name] ?? "")) return true;
    return field !== undefined && semanticEqual(field.schema, value[name], old[name]);
  };
  if (!isSame("series")) validateSeries(event);
  for (const [name, shown = name] of frozen) {
    if (!isSame(name)) event.under(shown).invalid("field is immutable", value[name]);
  }
}
