import { age } from "#api/meta/age.ts";
import { column, wide } from "#api/meta/columns.ts";
import { dns1123Subdomain, pathSegmentName, qualifiedName } from "#api/meta/names.ts";
import { MetadataField } from "#api/meta/object-meta.ts";
import { defaulted, demanded, embedded, nullable, optional, present, written } from "#schema/fields.ts";
import { inPackage } from "#schema/schema.ts";
import { int32, microTime, string, time } from "#schema/types.ts";
import { type Cursor } from "../cursor.ts";
import { type Column, defineResource, type NamespacedObject, type ObjectOf } from "../resource.ts";
import { ObjectReference } from "./references.ts";

const object = inPackage("core/v1");

export const EventSource = object("EventSource", "The component that reported an event.", {
  component: optional(1, string(), "Component that reported the event."),
  host: optional(2, string(), "Node on which the component runs."),
});

export const eventColumns: readonly Column<SentEvent>[] = [
  column("Last Seen", "When the event last occurred.", lastSeen),
  column("Type", "Type of the event: Normal or Warning.", (event) => event.type ?? ""),
  column("Reason", "Why the event was reported, as one word.", (event) => event.reason ?? ""),
  column("Object", "Object that the event is about.", targetOf),
  wide(
    column("Subobject", "Part of the object that the event is about.", (event) => event.involvedObject.fieldPath ?? ""),
  ),
  wide(column("Source", "Component that reported the event.", sourceOf)),
  column("Message", "Description of the event.", (event) => (event.message ?? "").trim()),
  wide(column("First Seen", "When the event first occurred.", firstSeen)),
  wide(column("Count", "How often the event occurred.", countOf)),
  { ...wide(column("Name", "Name of the event.", (event) => event.metadata.name)), format: "name" },
];

const fields = {
  metadata: demanded(MetadataField),
  involvedObject: present(2, ObjectReference, "Object that the event is about."),
  reason: optional(3, string(), "Why the event was reported, as one CamelCase word."),
  message: optional(4, string(), "Description of the event, for people."),
  source: embedded(5, EventSource, "Component that reported the event."),
  firstTimestamp: optional(6, time(), "When the event first occurred."),
  lastTimestamp: optional(7, time(), "When the event last occurred."),
  count: optional(8, int32(), "How often the event occurred."),
  type: optional(9, string(), "Type of the event: Normal or Warning."),
  eventTime: optional(10, microTime(), "When the event first occurred, in microseconds."),
  series: object.nullable(11, "EventSeries", "The series of occurrences, if the event occurred more than once.", {
    count: optional(1, int32(), "Number of occurrences in the series so far."),
    lastObservedTime: optional(2, microTime(), "When the event last occurred."),
  }),
  action: optional(12, string(), "Action that was taken or failed, as one CamelCase word."),
  related: nullable(13, ObjectReference, "Second object that the event is about, if any."),
  reportingComponent: written(defaulted(14, string(), "", "Controller that reported the event, as a qualified name.")),
  reportingInstance: written(defaulted(15, string(), "", "Instance of the controller that reported the event.")),
};
export interface Event extends NamespacedObject<typeof fields> {}
/** An event as a client sent it. */
export interface SentEvent extends ObjectOf<typeof fields> {}

/** What the two forms of events have in common. */
export const eventTraits = {
  shortNames: ["ev"],
  createOnUpdate: true,
  ttlSeconds: 3600,
  hasNoDependents: true,
  isUntraced: true,
  doc: "A report of something that happened to an object.",
};

/** Field selectors for each field of the object that an event is about. */
export const referenceSelectors = <T>(name: string, get: (event: T) => ObjectReference) =>
  Object.fromEntries(
    (["kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"] as const).map((field) => [
      `${name}.${field}`,
      (event: T): string | undefined => get(event)[field],
    ]),
  );

export const Event = defineResource("v1.Event", fields, {
  ...eventTraits,
  freeFinalizers: true,
  columns: eventColumns,
  selectableFields: {
    ...referenceSelectors<SentEvent>("involvedObject", (event) => event.involvedObject),
    reason: (event) => event.reason,
    reportingComponent: (event) => event.reportingComponent,
    source: (event) => event.source.component || event.reportingComponent,
    type: (event) => event.type,
  },
  indexes: { involvedObject: ({ involvedObject }) => (involvedObject.uid ? [involvedObject.uid] : []) },
  nameRule: pathSegmentName,

  validate: (event) => validateEvent(event, "reportingComponent"),
});

function firstSeen({ firstTimestamp, eventTime }: SentEvent, now: number): string {
  return age(firstTimestamp ?? eventTime, now);
}

function lastSeen(event: SentEvent, now: number): string {
  const { series, lastTimestamp } = event;
  if (series) return age(series.lastObservedTime, now);
  return lastTimestamp ? age(lastTimestamp, now) : firstSeen(event, now);
}

function countOf({ series, count }: SentEvent): number {
  return series ? (series.count ?? 0) : count || 1;
}

function targetOf({ involvedObject: { kind = "", name } }: SentEvent): string {
  return name ? `${kind.toLowerCase()}/${name}` : kind.toLowerCase();
}

function sourceOf({ source, reportingComponent, reportingInstance }: SentEvent): string {
  const instance = source.host || reportingInstance;
  const component = source.component || reportingComponent;
  return instance ? `${component}, ${instance}` : component;
}

/** The rules for events of either form; `controller` is what the form calls the reporting controller. */
export function validateEvent(event: Cursor<SentEvent>, controller: string): void {
  const { metadata, involvedObject, eventTime } = event.value;
  const { namespace = "" } = metadata;
  const { namespace: about = "" } = involvedObject;
  const mayBeClusterWide = eventTime ? ["default", "kube-system"] : ["", "default"];
  const agrees = about === "" ? mayBeClusterWide.includes(namespace) : eventTime !== undefined || about === namespace;
  if (!agrees) event.under("involvedObject", "namespace").invalid("does not match event.namespace", about);
  if (eventTime) validateReport(event, controller);
  event.under("namespace").rule(dns1123Subdomain, namespace);
}

function validateReport(event: Cursor<SentEvent>, controller: string): void {
  const at = event.under(controller).as(event.value.reportingComponent);
  at.required();
  at.rule(qualifiedName);
  for (const name of ["reportingInstance", "action", "reason"] as const) {
    event.field(name).required();
    refuseLongerThan(128, event.field(name));
  }
  refuseLongerThan(1024, event.field("message"));
}

function refuseLongerThan(max: number, at: Cursor<string | undefined>): void {
  if (Buffer.byteLength(at.value ?? "") > max) at.invalid(`can have at most ${max} characters`, "");
}
