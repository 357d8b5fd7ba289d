import { type ApiObject, type Resource } from "#api/resource.ts";
import { invalid, isStatus } from "#api/status.ts";
import { forbiddenValue, invalidValue, root } from "#schema/field-error.ts";
import { decodeRaw, type Expected, type RawBody, type ReadOptions } from "#server/input/body.ts";
import { refuseManyValues } from "#server/input/many-values.ts";
import { optionsFault } from "#server/input/options.ts";
import { applyType, mergeInto, type PatchType, patchBody, patchTypeOf } from "#server/input/patch-body.ts";
import { type EncodedObject } from "#server/objects/encode-once.ts";
import { type Answer, type Context } from "#server/request/pipeline.ts";
import { applyEndpoint } from "./apply.ts";
import { isLong, longTurn } from "./steps/pause.ts";
import { updateObject } from "./update.ts";
import { type Write, type WriteDeps, writeOf } from "./write.ts";

/** PATCH: changes the current object, in one of three formats; the fourth is server-side apply. */
export async function patchEndpoint(deps: WriteDeps, context: Context, resource: Resource): Promise<Answer> {
  const type = patchTypeOf(context, resource);
  const write = writeOf(context, resource, "PatchOptions");
  if (type !== applyType) refuseForce(context);
  const patch = await patchBody(context, type, write.options);
  if (type === applyType) return await applyEndpoint(deps, write, patch);
  const encoded = await updateObject(deps, write, (_, current) => patched(write, { type, patch, current }));
  return { type: "object", status: 200, resource, encoded };
}

function refuseForce({ query }: Context): void {
  if (!query.get("force")) return;
  throw optionsFault("PatchOptions", [forbiddenValue(root.child("force"), "may not be specified for non-apply patch")]);
}

function patched(
  write: Write,
  { type, patch, current: encoded }: { type: PatchType; patch: unknown; current: EncodedObject },
): ApiObject | Promise<ApiObject> {
  const { context, resource, subresource, options } = write;
  const isStatus = subresource === "status";
  const current = isStatus ? withOwnMetadata(encoded.object) : encoded.object;
  const raw: RawBody = { value: mergeInto(resource, { type, patch, current }), text: undefined };
  const expected = resource as unknown as Expected;
  // A change of the status keeps everything else, so that need not be decoded again.
  const settled = isStatus ? current : undefined;
  const reading = { fieldValidation: options.fieldValidation, defaults: true, settled };
  const read = () => decodePatched(context, expected, raw, reading) as ApiObject;
  if (!isLong(write, encoded)) return read();
  refuseManyValues(raw.value);
  return longTurn().then(read);
}

/** What is decoded may be changed, by the defaults of its kind first, and the metadata of the current object is shared. */
const withOwnMetadata = (object: ApiObject): ApiObject => ({ ...object, metadata: { ...object.metadata } });

/** If the patched object cannot be decoded, that is a fault of the patch, not of the request. */
function decodePatched(context: Context, expected: Expected, raw: RawBody, reading: ReadOptions): unknown {
  try {
    return decodeRaw(context, expected, raw, reading);
  } catch (error) {
    if (!isStatus(error, "BadRequest")) throw error;
    const strict = error.message.indexOf("strict decoding error");
    const why = strict < 0 ? error.message : error.message.slice(strict);
    const fault = invalidValue(root.child("patch"), JSON.stringify(raw.value), why);
    throw invalid({ group: "", kind: "" }, "", [fault]);
  }
}
