import { Scale } from "#api/autoscaling/scale.ts";
import { type ApiObject, apiVersionOf, type Resource } from "#api/resource.ts";
import { badRequest, internalError, StatusError } from "#api/status.ts";
import { equal } from "#lib/data/equal.ts";
import { isObject } from "#lib/data/json-object.ts";
import { applyJsonPatch } from "#lib/text/json-patch.ts";
import { PatchError } from "#lib/text/patch-error.ts";
import { decode } from "#schema/json/decode.ts";
import { DecodeError } from "#schema/json/decode-error.ts";
import { kindOf } from "../matching/sent-request.ts";
import { type AdmissionRequest } from "../plugin.ts";
import { type Call } from "./call.ts";
import { type WebhookWorld } from "./dispatch.ts";

/** Changes the object of the request as the webhook asked. Returns whether that made a difference. */
export async function applyPatch(
  { resources, views }: WebhookWorld,
  call: Call,
  operations: readonly unknown[],
): Promise<boolean> {
  const { request, view } = call;
  const { object } = request;
  const schemaOf = view.object && patched(call);
  if (!object || !schemaOf) throw unsupported(call);
  const changed = decodePatched(call, schemaOf, operations);
  if (equal(changed, view.object)) return false;
  if (schemaOf === scale) {
    views.setScale(request.resource, object, changed);
    return true;
  }
  const converted = await resources.convert(view.resource, changed, apiVersionOf(request.resource));
  const own = converted?.object ?? changed;
  keepServerFields(request, own);
  replaceContent(object, own);
  return true;
}

const scale = Scale as unknown as Resource;

/** The Resource of what the webhook saw, if the server uses what it makes of it. */
function patched({ view }: Call): Resource | undefined {
  const { kind } = kindOf(view);
  if (kind === view.resource.kind) return view.resource;
  return kind === scale.kind ? scale : undefined;
}

const unsupported = ({ hook: { webhook } }: Call): StatusError =>
  internalError(
    `admission webhook ${JSON.stringify(webhook.name)} attempted to modify the object, which is not supported for this operation`,
  );

function decodePatched(
  { view }: Call,
  { schema, kind, ...version }: Resource,
  operations: readonly unknown[],
): ApiObject {
  try {
    const value = applyJsonPatch(view.object, operations);
    const isKind = isObject(value) && value.kind === kind && value.apiVersion === apiVersionOf(version);
    if (!isKind || !isObject(value.metadata))
      throw new DecodeError(`the patched object must be a ${kind} with metadata`);
    return decode(schema, value, { defaults: true }).value;
  } catch (error) {
    throw error instanceof PatchError || error instanceof DecodeError ? internalError(error) : error;
  }
}

/** Webhooks change what a caller could have sent: neither where the object is, nor what only the server sets. */
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
