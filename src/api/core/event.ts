import { type FieldError, type FieldPath, invalidValue, requiredValue, root } from "#schema/field-error.ts";
import {
  defaulted,
  embedded,
  type Infer,
  int32,
  microTime,
  nullable,
  object,
  optional,
  present,
  string,
  time,
} from "#schema/schema.ts";
import { age } from "../meta/age.ts";
import { dns1123Subdomain, pathSegmentName, qualifiedName } from "../meta/names.ts";
import { type Column, defineResource, type ObjectOf } from "../resource.ts";
import { ObjectReference } from "./references.ts";

export const EventSource = object(
  "core/v1.EventSource",
  {
    component: optional(1, string(), "The component that saw it."),
    host: optional(2, string(), "The node on which it saw it."),
  },
  { doc: "Where an event comes from." },
);
export interface EventSource extends Infer<typeof EventSource> {}

export const EventSeries = object(
  "core/v1.EventSeries",
  {
    count: optional(1, int32(), "How often so far."),
    lastObservedTime: optional(2, microTime(), "When it last happened."),
  },
  { doc: "How often something happened again." },
);
export interface EventSeries extends Infer<typeof EventSeries> {}

const columns: readonly Column<Event>[] = [
  { name: "Last Seen", type: "string", description: "When it last happened.", value: lastSeen },
  { name: "Type", type: "string", description: "Normal or Warning.", value: (event) => event.type ?? "" },
  { name: "Reason", type: "string", description: "What happened, in one word.", value: (event) => event.reason ?? "" },
  { name: "Object", type: "string", description: "What it happened to.", value: targetOf },
  {
    name: "Subobject",
    type: "string",
    priority: 1,
    description: "The part that it happened to.",
    value: (event) => event.involvedObject.fieldPath ?? "",
  },
  { name: "Source", type: "string", priority: 1, description: "Who saw it.", value: sourceOf },
  { name: "Message", type: "string", description: "What happened.", value: (event) => (event.message ?? "").trim() },
  { name: "First Seen", type: "string", priority: 1, description: "When it first happened.", value: firstSeen },
  {
    name: "Count",
    type: "string",
    priority: 1,
    description: "How often it happened.",
    value: (event) => (event.series ? (event.series.count ?? 0) : event.count || 1),
  },
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
  reportingComponent: defaulted(14, string(), "", "The controller that saw it, such as kubernetes.io/kubelet."),
  reportingInstance: defaulted(15, string(), "", "Which instance of the controller saw it."),
};
export interface Event extends ObjectOf<typeof fields> {}

/** Something that happened to an object; kept for an hour. */
export const Event = defineResource({
  group: "",
  version: "v1",
  kind: "Event",
  plural: "events",
  package: "core/v1",
  shortNames: ["ev"],
  scope: "Namespaced",
  createOnUpdate: true,
  freeFinalizers: true,
  ttlSeconds: 3600,
  hasNoDependents: true,
  doc: "Something that happened to an object.",
  fields,
  columns,
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

  validate: (event) => validateEvent(event, root.child("reportingComponent")),
});

function firstSeen({ firstTimestamp, eventTime }: Event, now: number): string {
  return age(firstTimestamp ?? eventTime, now);
}

function lastSeen(event: Event, now: number): string {
  const { series, lastTimestamp } = event;
  if (series) return age(series.lastObservedTime, now);
  return lastTimestamp ? age(lastTimestamp, now) : firstSeen(event, now);
}

function targetOf({ involvedObject: { kind = "", name } }: Event): string {
  return name ? `${kind.toLowerCase()}/${name}` : kind.toLowerCase();
}

function sourceOf({ source, reportingComponent, reportingInstance }: Event): string {
  const instance = source.host || reportingInstance;
  const component = source.component || reportingComponent;
  return instance ? `${component}, ${instance}` : component;
}

/** The rules for events of either form; `controllerPath` is what the form calls the reporting controller. */
export function* validateEvent(event: Event, controllerPath: FieldPath): Iterable<FieldError> {
  const { namespace = "" } = event.metadata;
  const { namespace: about = "" } = event.involvedObject;
  const mayBeClusterWide = event.eventTime ? ["default", "kube-system"] : ["", "default"];
  const agrees =
    about === "" ? mayBeClusterWide.includes(namespace) : event.eventTime !== undefined || about === namespace;
  if (!agrees) yield invalidValue(root.child("involvedObject", "namespace"), about, "does not match event.namespace");
  if (event.eventTime) yield* validateReport(event, controllerPath);
  for (const fault of dns1123Subdomain.all(namespace)) yield invalidValue(root.child("namespace"), namespace, fault);
}

function* validateReport(event: Event, controllerPath: FieldPath): Iterable<FieldError> {
  const { reportingComponent: controller } = event;
  if (!controller) yield requiredValue(controllerPath);
  for (const fault of qualifiedName.all(controller)) yield invalidValue(controllerPath, controller, fault);
  const texts = { reportingInstance: event.reportingInstance, action: event.action, reason: event.reason };
  for (const [name, text = ""] of Object.entries(texts)) {
    if (!text) yield requiredValue(root.child(name));
    if (Buffer.byteLength(text) > 128) yield invalidValue(root.child(name), "", "can have at most 128 characters");
  }
  if (Buffer.byteLength(event.message ?? "") > 1024) {
    yield invalidValue(root.child("message"), "", "can have at most 1024 characters");
  }
}
