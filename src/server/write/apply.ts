import { type ApiObject } from "#api/resource.ts";
import { badRequest, conflict, isAlreadyExists, isNotFound } from "#api/status.ts";
import { isObject } from "#lib/data/json-object.ts";
import { requiredValue, root } from "#schema/field-error.ts";
import { applyPatch } from "#server/apply/apply.ts";
import { checkAppliedKind } from "#server/apply/check-applied.ts";
import { decodeRaw, type Expected, type RawBody } from "#server/input/body.ts";
import { optionsFault } from "#server/input/options.ts";
import { type Answer, type Context } from "#server/request/pipeline.ts";
import { createObject } from "./create.ts";
import { checkName, checkNamespace } from "./steps/identity.ts";
import { updateObject } from "./update.ts";
import { type Write, type WriteDeps } from "./write.ts";

const maxRaces = 5;

/** Server-side apply: creates what is missing, and knows field by field who wants what. */
export async function applyEndpoint(deps: WriteDeps, asked: Write, configuration: unknown): Promise<Answer> {
  const { context, resource } = asked;
  requireManager(context);
  const applied = checkApplied(asked, configuration);
  const write: Write = { ...asked, applied: true };
  const merge = (live: ApiObject | undefined) => mergeApplied(write, { applied, live, now: deps.clock.now() });
  for (let attempt = 0; ; attempt++) {
    try {
      const encoded = await updateObject(deps, write, merge);
      return { type: "object", status: 200, resource, encoded };
    } catch (error) {
      if (!isNotFound(error) || write.subresource !== "") throw error;
    }
    try {
      return await createApplied(deps, write, () => merge(undefined));
    } catch (error) {
      // Somebody else made it meanwhile: then it is to be changed after all.
      if (!isAlreadyExists(error) || attempt >= maxRaces) throw error;
    }
  }
}

async function createApplied(deps: WriteDeps, write: Write, merge: () => ApiObject): Promise<Answer> {
  const { context, resource, name } = write;
  await deps.authorizeCreate(context);
  const object = merge();
  const { uid } = object.metadata;
  if (uid) {
    const why = `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`;
    throw conflict(resource, name, why);
  }
  const encoded = await createObject(deps, write, object);
  return { type: "object", status: 201, resource, encoded };
}

/** The live object with what was applied, decoded, and with its managed fields as they are from now on. */
function mergeApplied(
  { context, resource, subresource, options: { manager, force } }: Write,
  { applied, live, now }: { readonly applied: unknown; readonly live: ApiObject | undefined; readonly now: number },
): ApiObject {
  const merged = applyPatch({ resource, liveObject: live, applied, manager, force, subresource, now });
  const raw: RawBody = { value: merged.object, text: undefined };
  const object = decodeRaw(context, resource as unknown as Expected, raw, lenient) as ApiObject;
  if (merged.managedFields) object.metadata.managedFields = [...merged.managedFields];
  else delete object.metadata.managedFields;
  return object;
}

export function requireManager({ query }: Context): void {
  if (query.get("fieldManager")) return;
  throw optionsFault("PatchOptions", [requiredValue(root.child("fieldManager"), "is required for apply patch")]);
}

/** The configuration as it was sent, once it is known to be one for this object. */
export function checkApplied({ context, resource, name, namespace, options }: Write, configuration: unknown): unknown {
  if (!isObject(configuration)) throw badRequest("error decoding patch: an object was expected");
  checkAppliedKind(resource, configuration);
  const raw: RawBody = { value: configuration, text: undefined };
  const { fieldValidation } = options;
  const { metadata = {} } = decodeRaw(context, resource as unknown as Expected, raw, {
    fieldValidation,
    defaults: false,
  }) as Partial<ApiObject>;
  if (metadata.name) checkName(metadata.name, name);
  checkNamespace(metadata.namespace, namespace);
  const place = resource.scope === "Namespaced" ? { name, namespace } : { name };
  return { ...configuration, metadata: { ...(configuration.metadata as object | undefined), ...place } };
}

/** What is merged has been checked as it was sent. */
export const lenient = { fieldValidation: "Ignore", defaults: true } as const;
