import {
  Event,
  EventSource,
  eventColumns,
  eventTraits,
  referenceSelectors,
  type SentEvent,
  validateEvent,
} from "#api/core/event.ts";
import { ObjectReference } from "#api/core/references.ts";
import { semanticEqual } from "#api/meta/equal.ts";
import { demanded, embedded, nullable, optional, stated } from "#schema/fields.ts";
import { inPackage } from "#schema/schema.ts";
import { int32, microTime, string, time } from "#schema/types.ts";
import { type Cursor } from "../cursor.ts";
import { type Column, defineResource, type ObjectOf } from "../resource.ts";

const object = inPackage("events/v1");

const fields = {
  eventTime: demanded(optional(2, microTime(), "When the event first occurred.")),
  series: object.nullable(3, "EventSeries", "The series of occurrences, if the event occurred more than once.", {
    count: stated(demanded(optional(1, int32(), "Number of occurrences in the series so far, at least 2.")), 0),
    lastObservedTime: demanded(optional(2, microTime(), "When the event last occurred.")),
  }),
  reportingController: optional(4, string(), "Controller that reported the event, such as kubernetes.io/kubelet."),
  reportingInstance: optional(5, string(), "Instance of the controller that reported the event."),
  action: optional(6, string(), "Action that was taken or failed, as one CamelCase word."),
  reason: optional(7, string(), "Why the action was taken, as one CamelCase word."),
  regarding: embedded(8, ObjectReference, "Object that the event is about."),
  related: nullable(9, ObjectReference, "Second object that the event is about, if any."),
  note: optional(10, string(), "Description of the event, for people."),
  type: optional(11, string(), "Type of the event: Normal or Warning."),
  deprecatedSource: embedded(12, EventSource, "The field source of a core/v1 event."),
  deprecatedFirstTimestamp: optional(13, time(), "The field firstTimestamp of a core/v1 event."),
  deprecatedLastTimestamp: optional(14, time(), "The field lastTimestamp of a core/v1 event."),
  deprecatedCount: optional(15, int32(), "The field count of a core/v1 event."),
};
interface SentEventV1 extends ObjectOf<typeof fields> {}

/** The newer form of the same events: stored as core/v1. */
export const eventsV1 = defineResource("events.k8s.io/v1.Event", fields, {
  ...eventTraits,
  columns: eventColumns.map(
    (column): Column<SentEventV1> => ({ ...column, value: (event, now) => column.value(toStored(event), now) }),
  ),
  selectableFields: {
    ...referenceSelectors<SentEventV1>("regarding", (event) => event.regarding),
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

/** A new event must not use fields that only the older form has. */
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

const { kind: _kind, apiVersion: _version, metadata: _metadata, series: _series, ...frozen } = Event.schema.fields;

/** An update can only continue the series of an event. */
function validateChange(event: Cursor<SentEvent>, old: SentEvent): void {
  const { value } = event;
  const isSame = (name: keyof Event): boolean => {
    const field = Event.schema.fields[name];
    if ((value[name] ?? "") === (old[name] ?? "")) return true;
    return field !== undefined && semanticEqual(field.schema, value[name], old[name]);
  };
  if (!isSame("series")) validateSeries(event);
  for (const name of Object.keys(frozen) as (keyof Event)[]) {
    const at = event.under(name === "reportingComponent" ? "reportingController" : name);
    if (!isSame(name)) at.invalid("field is immutable", value[name] ?? zeroOf(name));
  }
}

/** What Go has in a field that was not sent, and shows in messages. */
const zeroOf = (name: keyof Event): unknown => {
  const schema = Event.schema.fields[name]?.schema;
  if (schema?.type === "string") return "";
  return schema?.type === "int32" ? 0 : null;
};
