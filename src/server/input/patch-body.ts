import { type ApiObject, type Resource } from "#api/resource.ts";
import { badRequest, tooLarge, unsupportedMediaType } from "#api/status.ts";
import { isObject } from "#lib/data/json-object.ts";
import { applyJsonPatch } from "#lib/text/json-patch.ts";
import { applyMergePatch } from "#lib/text/merge-patch.ts";
import { PatchError } from "#lib/text/patch-error.ts";
import { DecodeError, TooManyValues } from "#schema/json/decode-error.ts";
import { parseJson } from "#schema/json/json.ts";
import { strategicMerge } from "#schema/merge.ts";
import { patchStatus } from "#server/apply/patch-status.ts";
import { ownerOf } from "#server/http/callers.ts";
import { type Context } from "#server/request/pipeline.ts";
import { mediaType, yamlValue } from "./body.ts";
import { type WriteOptions } from "./options.ts";

export const applyType = "application/apply-patch+yaml";
const patchTypes = [
  "application/json-patch+json",
  "application/merge-patch+json",
  "application/strategic-merge-patch+json",
  applyType,
] as const;
export type PatchType = (typeof patchTypes)[number];

/** A custom resource has no strategy for merging: its author describes lists for apply alone. */
const customPatchTypes = patchTypes.filter((type) => type !== "application/strategic-merge-patch+json");

export function patchTypeOf({ request }: Context, { isJsonOnly }: Pick<Resource, "isJsonOnly"> = {}): PatchType {
  const asked = mediaType(request.headers["content-type"]);
  const types = isJsonOnly ? customPatchTypes : patchTypes;
  const type = asked === "application/apply-patch+json" ? applyType : types.find((known) => known === asked);
  if (type) return type;
  // Upstream refuses a patch of its own kinds before it looks at the format, with another text.
  if (!isJsonOnly) throw unsupportedMediaType("415: Unsupported Media Type");
  throw unsupportedMediaType(
    `the body of the request was in an unknown format - accepted media types include: ${types.join(", ")}`,
  );
}

type PatchOptions = Pick<WriteOptions, "fieldValidation">;

export async function patchBody(context: Context, type: PatchType, options: PatchOptions): Promise<unknown> {
  const patch = await readPatch(context, type, options);
  context.audit?.patch(patch);
  return patch;
}

async function readPatch(
  { request, user, warnings }: Context,
  type: PatchType,
  { fieldValidation }: PatchOptions,
): Promise<unknown> {
  if (request.object !== undefined) return request.object;
  const bytes = request.body ?? new Uint8Array();
  try {
    if (type !== applyType) return parseJson(bytes).value;
    const { value, fault } = await yamlValue(bytes, ownerOf(user.name));
    if (fault && fieldValidation === "Strict") {
      throw badRequest(`error strict decoding YAML: error converting YAML to JSON: ${fault}`);
    }
    if (fault && fieldValidation === "Warn") warnings.push(fault);
    return value;
  } catch (error) {
    if (error instanceof TooManyValues) throw tooLarge(error.message);
    if (error instanceof DecodeError) throw badRequest(`error decoding patch: ${error.message}`);
    throw error;
  }
}

/** The patched plain value; neither input is changed. */
export function mergeInto(
  resource: Pick<Resource, "group" | "kind" | "schema">,
  { type, patch, current }: { type: PatchType; patch: unknown; current: ApiObject },
): unknown {
  try {
    if (type === "application/json-patch+json") return applyJsonPatch(current, patch);
    if (!isObject(patch)) throw badRequest(notAPatch(patch));
    if (type === "application/merge-patch+json") return applyMergePatch(current, patch);
    return strategicMerge(resource.schema, current as unknown as Record<string, unknown>, patch);
  } catch (error) {
    throw error instanceof PatchError ? patchStatus(error) : error;
  }
}

/** Upstream's words for a merge patch that is not an object. */
function notAPatch(patch: unknown): string {
  const type = Array.isArray(patch) ? "array" : typeof patch === "boolean" ? "bool" : typeof patch;
  return `error decoding patch: json: cannot unmarshal ${type} into Go value of type map[string]interface {}`;
}
