import { type ApiObject, apiVersionOf, type Resource } from "#api/resource.ts";
import {
  badRequest,
  conflict,
  invalid,
  isAlreadyExists,
  isNotFound,
  isStatus,
  tooLarge,
  unsupportedMediaType,
} from "#api/status.ts";
import { isObject } from "#lib/data/json-object.ts";
import { applyJsonPatch } from "#lib/text/json-patch.ts";
import { applyMergePatch } from "#lib/text/merge-patch.ts";
import { PatchError } from "#lib/text/patch-error.ts";
import { forbiddenValue, invalidValue, requiredValue, root } from "#schema/field-error.ts";
import { DecodeError, TooManyValues } from "#schema/json/decode-error.ts";
import { parseJson } from "#schema/json/json.ts";
import { strategicMerge } from "#schema/merge.ts";
import { checkName } from "#server/endpoints/identity.ts";
import { ownerOf } from "#server/http/callers.ts";
import { type Answer, type Context } from "#server/request/pipeline.ts";
import { applyPatch } from "../apply/apply.ts";
import { patchStatus } from "../apply/patch-status.ts";
import { decodeRaw, type Expected, mediaType, type RawBody, type ReadOptions, yamlValue } from "./body.ts";
import { optionsFault, writeOptions } from "./options.ts";
import { createObject, type Updated, updateObject, type Write, type WriteDeps } from "./write.ts";

const patchTypes = [
  "application/json-patch+json",
  "application/merge-patch+json",
  "application/strategic-merge-patch+json",
  "application/apply-patch+yaml",
] as const;
export type PatchType = (typeof patchTypes)[number];

export async function patchEndpoint(deps: WriteDeps, context: Context, resource: Resource): Promise<Answer> {
  const type = patchTypeOf(context);
  const options = writeOptions(context, "PatchOptions");
  if (type !== "application/apply-patch+yaml" && context.query.get("force")) {
    const fault = forbiddenValue(root.child("force"), "may not be specified for non-apply patch");
    throw optionsFault("PatchOptions", [fault]);
  }
  const { namespace, name, subresource } = context.info;
  const write: Write = { context, resource, subresource, namespace, name, options };
  const patch = await patchBody(context, type);
  if (type === "application/apply-patch+yaml") return await applyEndpoint(deps, write, patch);
  const { encoded } = await updateObject(deps, write, (current) => patched(write, { type, patch, current }));
  return { type: "object", status: 200, resource, encoded };
}

export function patchTypeOf({ request }: Context): PatchType {
  const asked = mediaType(request.headers["content-type"]);
  const type = asked === "application/apply-patch+json" ? patchTypes[3] : patchTypes.find((known) => known === asked);
  if (!type) {
    throw unsupportedMediaType(
      `the body of the request was in an unknown format - accepted media types include: ${patchTypes.join(", ")}`,
    );
  }
  return type;
}

export async function patchBody({ request, user }: Context, type: PatchType): Promise<unknown> {
  if (request.object !== undefined) return request.object;
  const bytes = request.body ?? new Uint8Array();
  try {
    return type === "application/apply-patch+yaml"
      ? await yamlValue(bytes, ownerOf(user.name))
      : parseJson(bytes).value;
  } catch (error) {
    if (error instanceof TooManyValues) throw tooLarge(error.message);
    if (error instanceof DecodeError) throw badRequest(`error decoding patch: ${error.message}`);
    throw error;
  }
}

function patched(
  { context, resource, subresource, options }: Write,
  { type, patch, current }: { type: PatchType; patch: unknown; current: ApiObject },
): ApiObject {
  const raw: RawBody = { value: mergeInto(resource, { type, patch, current }), text: undefined };
  const expected = resource as unknown as Expected;
  // A change of the status keeps all else, so all else need not be read again.
  const settled = subresource === "status" ? current : undefined;
  const reading = { fieldValidation: options.fieldValidation, defaults: true, settled };
  const object = decodePatched(context, expected, raw, reading) as ApiObject;
  if (object.metadata === current.metadata) object.metadata = { ...current.metadata };
  return object;
}

/** A patch that makes of an object what is none is at fault, and not the request. */
function decodePatched(context: Context, expected: Expected, raw: RawBody, reading: ReadOptions): unknown {
  try {
    return decodeRaw(context, expected, raw, reading);
  } catch (error) {
    // Fields that are only unknown have their own answer.
    if (!isStatus(error, "BadRequest") || error.message.includes("strict decoding error")) throw error;
    const fault = invalidValue(root.child("patch"), JSON.stringify(raw.value), error.message);
    throw invalid({ group: "", kind: "" }, "", [fault]);
  }
}

/** The patched plain value; neither input is changed. */
export function mergeInto(
  resource: Pick<Resource, "group" | "kind" | "schema">,
  { type, patch, current }: { type: PatchType; patch: unknown; current: ApiObject },
): unknown {
  try {
    if (type === "application/json-patch+json") return applyJsonPatch(current, patch);
    if (!isObject(patch)) throw badRequest("error decoding patch: an object was expected");
    if (type === "application/merge-patch+json") return applyMergePatch(current, patch);
    return strategicMerge(resource.schema, current as unknown as Record<string, unknown>, patch);
  } catch (error) {
    throw error instanceof PatchError ? patchStatus(error) : error;
  }
}

/** Server-side apply: creates what is missing, and knows field by field who wants what. */
async function applyEndpoint(deps: WriteDeps, write: Write, configuration: unknown): Promise<Answer> {
  const { context, resource, options } = write;
  requireManager(context);
  const applied = checkApplied(write, configuration);
  const { manager, force } = options;
  const merge = (liveObject: ApiObject | undefined): ApiObject => {
    const { subresource } = write;
    const merged = applyPatch({ resource, liveObject, applied, manager, force, subresource, now: deps.clock.now() });
    const raw: RawBody = { value: merged.object, text: undefined };
    const object = decodeRaw(context, resource as unknown as Expected, raw, lenient) as ApiObject;
    if (merged.managedFields) object.metadata.managedFields = [...merged.managedFields];
    else delete object.metadata.managedFields;
    return object;
  };
  const applyWrite: Write = { ...write, applied: true };
  for (let attempt = 0; ; attempt++) {
    try {
      const { encoded }: Updated<ApiObject> = await updateObject(deps, applyWrite, merge);
      return { type: "object", status: 200, resource, encoded };
    } catch (error) {
      if (!isNotFound(error) || write.subresource !== "") throw error;
    }
    await deps.authorizeCreate(context);
    try {
      const object = merge(undefined);
      const { uid } = object.metadata;
      if (uid) {
        const why = `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`;
        throw conflict(resource, write.name, why);
      }
      const encoded = await createObject(deps, applyWrite, object);
      return { type: "object", status: 201, resource, encoded };
    } catch (error) {
      // Somebody else made it meanwhile: then it is to be changed after all.
      if (!isAlreadyExists(error) || attempt >= maxRaces) throw error;
    }
  }
}

const maxRaces = 5;

export function requireManager({ query }: Context): void {
  if (query.get("fieldManager")) return;
  throw optionsFault("PatchOptions", [requiredValue(root.child("fieldManager"), "is required for apply patch")]);
}

/** The configuration as it was sent, once it is known to be one for this object. */
export function checkApplied({ context, resource, name, namespace, options }: Write, configuration: unknown): unknown {
  if (!isObject(configuration)) throw badRequest("error decoding patch: an object was expected");
  const { kind = "", apiVersion = "" } = configuration;
  if (kind !== resource.kind || apiVersion !== apiVersionOf(resource)) {
    const version = String(apiVersion);
    throw badRequest(`invalid object type: ${version.includes("/") ? version : `/${version}`}, Kind=${kind}`);
  }
  const raw: RawBody = { value: configuration, text: undefined };
  const { fieldValidation } = options;
  const { metadata = {} } = decodeRaw(context, resource as unknown as Expected, raw, {
    fieldValidation,
    defaults: false,
  }) as Partial<ApiObject>;
  if (metadata.name) checkName(metadata.name, name);
  if (metadata.namespace && metadata.namespace !== namespace) {
    throw badRequest("the namespace of the provided object does not match the namespace sent on the request");
  }
  const place = resource.scope === "Namespaced" ? { name, namespace } : { name };
  return { ...configuration, metadata: { ...(configuration.metadata as object | undefined), ...place } };
}

/** What is merged has been checked as it was sent. */
export const lenient = { fieldValidation: "Ignore", defaults: true } as const;
