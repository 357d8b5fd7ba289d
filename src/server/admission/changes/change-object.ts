import { Scale } from "#api/autoscaling/scale.ts";
import { type ApiObject, apiVersionOf, type Resource } from "#api/resource.ts";
import { badRequest } from "#api/status.ts";
import { equal } from "#lib/data/equal.ts";
import { isObject } from "#lib/data/json-object.ts";
import { decode } from "#schema/json/decode.ts";
import { DecodeError } from "#schema/json/decode-error.ts";
import { type ResourceRegistry } from "#server/registry.ts";
import { type TraceRecorder } from "#trace/recorder.ts";
import { kindOf, type ScaleOf, type SentRequest } from "../matching/sent-request.ts";
import { type AdmissionRequest } from "../plugin.ts";
import { isConfidential } from "../record-admission.ts";
import { describeChanges } from "./describe-changes.ts";

/** How the parts of a request are shown whose objects are not those of the API: the parts of other rooms. */
export interface ScaleViews {
  readonly scaleOf: ScaleOf;
  setScale(resource: Resource, object: ApiObject, scale: ApiObject): void;
}

export interface ChangeDeps {
  readonly resources: ResourceRegistry;
  readonly views: ScaleViews;
  /** If there is one, changes are described for it. */
  readonly recorder?: TraceRecorder | undefined;
}

const scale = Scale as unknown as Resource;

/** The Resource of the object that a webhook or a policy sees, if the server uses what becomes of it. */
export function changeable(view: SentRequest): Resource | undefined {
  if (!view.object) return undefined;
  const { kind } = kindOf(view);
  if (kind === view.resource.kind) return view.resource;
  return kind === scale.kind ? scale : undefined;
}

/** What became of an object, with its defaults. Throws DecodeError if it is no longer of its kind. */
export function decodeChanged(
  { schema, kind, ...version }: Resource,
  value: unknown,
): { value: ApiObject; unknown: string[] } {
  const isKind = isObject(value) && value.kind === kind && value.apiVersion === apiVersionOf(version);
  if (!isKind || !isObject(value.metadata)) {
    throw new DecodeError(`the patched object must be a ${kind} with metadata`);
  }
  return decode(schema, value, { defaults: true });
}

export interface Change {
  readonly request: AdmissionRequest;
  /** What was changed. */
  readonly view: SentRequest;
  readonly changed: ApiObject;
}

/** Makes the changed view the object of the request. Returns what is different; undefined if nothing is. */
export async function changeObject(
  { resources, views, recorder }: ChangeDeps,
  { request, view, changed }: Change,
): Promise<readonly string[] | undefined> {
  const { object } = request;
  if (!object || equal(changed, view.object)) return undefined;
  // Before the change, because the view may be the object itself.
  const describe = isConfidential(view.resource) ? () => ["the object, whose values are not shown"] : describeChanges;
  const changes = recorder?.isOn ? describe(view.object, changed) : [];
  if (changeable(view) === scale) {
    views.setScale(request.resource, object, changed);
    return changes;
  }
  const converted = await resources.convert(view.resource, changed, apiVersionOf(request.resource));
  const own = converted?.object ?? changed;
  keepServerFields(request, own);
  replaceContent(object, own);
  return changes;
}

/** Plugins change what a caller could have sent: neither where the object is, nor what only the server sets. */
function keepServerFields({ operation, object }: AdmissionRequest, { metadata }: ApiObject): void {
  const before = object?.metadata ?? {};
  if ((metadata.namespace ?? "") !== (before.namespace ?? "")) {
    throw badRequest("the namespace of the provided object does not match the namespace sent on the request");
  }
  if (operation !== "CREATE" && metadata.name !== before.name) {
    throw badRequest(`the name of the object (${metadata.name}) does not match the name on the URL (${before.name})`);
  }
  for (const name of serverFields) {
    if (before[name] === undefined) delete metadata[name];
    else metadata[name] = before[name] as never;
  }
}
const serverFields = [
  "uid",
  "resourceVersion",
  "generation",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "managedFields",
] as const;

/** The steps of the write hold on to the object itself. */
function replaceContent(object: ApiObject, content: ApiObject): void {
  const [to, from] = [object as unknown as Record<string, unknown>, content as unknown as Record<string, unknown>];
  for (const name of Object.keys(to)) if (!Object.hasOwn(from, name)) delete to[name];
  Object.assign(to, from);
}
