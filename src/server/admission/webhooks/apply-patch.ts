import { internalError, type StatusError } from "#api/status.ts";
import { applyJsonPatch } from "#lib/text/json-patch.ts";
import { PatchError } from "#lib/text/patch-error.ts";
import { DecodeError } from "#schema/json/decode-error.ts";
import { type ChangeDeps, changeable, changeObject, decodeChanged } from "../changes/change-object.ts";
import { type Call } from "./call.ts";

/** Changes the object of the request as the webhook asked. Returns what is different; undefined if nothing is. */
export async function applyPatch(
  deps: ChangeDeps,
  call: Call,
  operations: readonly unknown[],
): Promise<readonly string[] | undefined> {
  const { request, view } = call;
  const resource = changeable(view);
  if (!resource) throw unsupported(call);
  try {
    const { value: changed } = decodeChanged(resource, applyJsonPatch(view.object, operations));
    return await changeObject(deps, { request, view, changed });
  } catch (error) {
    throw error instanceof PatchError || error instanceof DecodeError ? internalError(error) : error;
  }
}

const unsupported = ({ hook: { webhook } }: Call): StatusError =>
  internalError(
    `admission webhook ${JSON.stringify(webhook.name)} attempted to modify the object, which is not supported for this operation`,
  );
