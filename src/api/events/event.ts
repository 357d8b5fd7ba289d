import { type FieldError, invalidValue, requiredValue, root } from "#schema/field-error.ts";
import { embedded, type Infer, int32, microTime, nullable, object, optional, string, time } from "#schema/schema.ts";
import { Event, EventSource, validateEvent } from "../core/event.ts";
import { ObjectReference } from "../core/references.ts";
import { semanticEqual } from "../meta/equal.ts";
import { dns1123Subdomain } from "../meta/names.ts";
import { type Column, defineResource, type ObjectOf } from "../resource.ts";

export const EventSeries = object(
  "events/v1.EventSeries",
  {
    count: optional(1, int32(), "How often so far, at least twice."),
    lastObservedTime: optional(2, microTime(), "When it last happened."),
  },
  { doc: "How often something happened again." },
);
export interface EventSeries extends Infer<typeof EventSeries> {}

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
export interface EventV1 extends ObjectOf<typeof fields> {}

/** The newer form of the same events: stored as core/v1. */
export const eventsV1 = defineResource({
  group: "events.k8s.io",
  version: "v1",
  kind: "Event",
  plural: "events",
  package: "events/v1",
  shortNames: ["ev"],
  scope: "Namespaced",
  createOnUpdate: true,
  freeFinalizers: true,
  ttlSeconds: 3600,
  hasNoDependents: true,
  doc: "Something that happened to an object.",
  fields,
  columns: Event.columns.map(
    (column): Column<EventV1> => ({ ...column, value: (event, now) => column.value(toStored(event), now) }),
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
  nameRule: dns1123Subdomain,

  *validate(event) {
    const stored = toStored(event);
    yield* validateEvent(stored, root.child("reportingController"));
    if (!event.metadata.resourceVersion) yield* validateNew(stored);
  },
  validateUpdate: (event, old) => validateChange(toStored(event), toStored(old)),
});

export function toStored(event: EventV1): Event {
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

export function fromStored(stored: Event): EventV1 {
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
function* validateNew(event: Event): Iterable<FieldError> {
  yield* validateSeries(event);
  if (!event.eventTime) yield requiredValue(root.child("eventTime"));
  const { type = "" } = event;
  if (type !== "Normal" && type !== "Warning") {
    yield invalidValue(root.child("type"), "", `has invalid value: ${type}`);
  }
  const unset = {
    firstTimestamp: event.firstTimestamp,
    lastTimestamp: event.lastTimestamp,
    count: event.count,
    source: event.source.component || event.source.host,
  };
  for (const [name, value] of Object.entries(unset)) {
    if (value) yield invalidValue(root.child(name), "", "needs to be unset");
  }
}

function* validateSeries({ series }: Event): Iterable<FieldError> {
  if (!series) return;
  if ((series.count ?? 0) < 2) yield invalidValue(root.child("series", "count"), "", "should be at least 2");
  if (!series.lastObservedTime) yield requiredValue(root.child("series", "lastObservedTime"));
}

const frozen: readonly (readonly [name: keyof Event, shownAs: string])[] = [
  ["involvedObject", "involvedObject"],
  ["reason", "reason"],
  ["message", "message"],
  ["source", "source"],
  ["firstTimestamp", "firstTimestamp"],
  ["lastTimestamp", "lastTimestamp"],
  ["count", "count"],
  ["type", "type"],
  ["eventTime", "eventTime"],
  ["action", "action"],
  ["related", "related"],
  ["reportingComponent", "reportingController"],
  ["reportingInstance", "reportingInstance"],
];

/** Only the series of an event goes on. */
function* validateChange(event: Event, old: Event): Iterable<FieldError> {
  const { fields } = Event.schema;
  const same = (name: keyof Event): boolean => {
    const field = fields[name];
    return (
      field !== undefined &&
      ((event[name] ?? "") === (old[name] ?? "") || semanticEqual(field.schema, event[name], old[name]))
    );
  };
  if (!same("series")) yield* validateSeries(event);
  for (const [name, shown] of frozen) {
    if (!same(name)) yield invalidValue(root.child(shown), event[name], "field is immutable");
  }
}
