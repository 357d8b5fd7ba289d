import { age } from "#api/meta/age.ts";
import { column, wide } from "#api/meta/columns.ts";
import { dns1123Subdomain, pathSegmentName, qualifiedName } from "#api/meta/names.ts";
import { defaulted, embedded, inGo, nullable, optional, present } from "#schema/fields.ts";
import { inPackage } from "#schema/schema.ts";
import { int32, microTime, string, time } from "#schema/types.ts";
import { type Cursor } from "../cursor.ts";
import { type Column, defineResource, type NamespacedObject, type ObjectOf } from "../resource.ts";
import { ObjectReference } from "./references.ts";

const object = inPackage("core/v1");

export const EventSource = object("EventSource", "Where an event comes from.", {
  component: optional(1, string(), "The component that saw it."),
  host: optional(2, string(), "The node on which it saw it."),
});

export const EventSeries = object("EventSeries", "How often something happened again.", {
  count: optional(1, int32(), "Number of occurrences so far."),
  lastObservedTime: optional(2, microTime(), "When it last happened."),
});

export const eventColumns: readonly Column<SentEvent>[] = [
  column("Last Seen", "When it last happened.", lastSeen),
  column("Type", "Normal or Warning.", (event) => event.type ?? ""),
  column("Reason", "What happened, in one word.", (event) => event.reason ?? ""),
  column("Object", "What it happened to.", targetOf),
  wide(column("Subobject", "The part that it happened to.", (event) => event.involvedObject.fieldPath ?? "")),
  wide(column("Source", "Who saw it.", sourceOf)),
  column("Message", "What happened.", (event) => (event.message ?? "").trim()),
  wide(column("First Seen", "When it first happened.", firstSeen)),
  wide(
    column("Count", "How often it happened.", (event) => (event.series ? (event.series.count ?? 0) : event.count || 1)),
  ),
  {
    name: "Name",
    type: "string",
    format: "name",
    priority: 1,
    description: "Name of the event.",
    value: (event) => event.metadata.name,
  },
];

const fields = {
  involvedObject: present(2, ObjectReference, "What it happened to."),
  reason: optional(3, string(), "What happened, in one word."),
  message: optional(4, string(), "What happened, in a sentence."),
  source: embedded(5, EventSource, "Who saw it."),
  firstTimestamp: optional(6, time(), "When it first happened."),
  lastTimestamp: optional(7, time(), "When it last happened."),
  count: optional(8, int32(), "How often it happened."),
  type: optional(9, string(), "Normal or Warning."),
  eventTime: optional(10, microTime(), "When it first happened."),
  series: nullable(11, EventSeries, "Set once it has happened again."),
  action: optional(12, string(), "What was done or tried."),
  related: nullable(13, ObjectReference, "Another object that has to do with it."),
  reportingComponent: inGo(
    { zero: "written" },
    defaulted(14, string(), "", "The controller that saw it, as in kubernetes.io/kubelet."),
  ),
  reportingInstance: inGo({ zero: "written" }, defaulted(15, string(), "", "Which instance of the controller saw it.")),
};
export interface Event extends NamespacedObject<typeof fields> {}
/** An event as a client sent it. */
export interface SentEvent extends ObjectOf<typeof fields> {}

export const Event = defineResource("v1.Event", fields, {
  shortNames: ["ev"],
  createOnUpdate: true,
  freeFinalizers: true,
  ttlSeconds: 3600,
  hasNoDependents: true,
  isUntraced: true,
  doc: "Something that happened to an object.",
  columns: eventColumns,
  selectableFields: {
    "involvedObject.kind": (event) => event.involvedObject.kind,
    "involvedObject.namespace": (event) => event.involvedObject.namespace,
    "involvedObject.name": (event) => event.involvedObject.name,
    "involvedObject.uid": (event) => event.involvedObject.uid,
    "involvedObject.apiVersion": (event) => event.involvedObject.apiVersion,
    "involvedObject.resourceVersion": (event) => event.involvedObject.resourceVersion,
    "involvedObject.fieldPath": (event) => event.involvedObject.fieldPath,
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
