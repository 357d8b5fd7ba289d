import { type ApiObject } from "#api/resource.ts";
import { badRequest, conflict, isAlreadyExists, isNotFound } from "#api/status.ts";
import { isObject } from "#lib/data/json-object.ts";
import { requiredValue, root } from "#schema/field-error.ts";
import { applyPatch } from "#server/apply/apply.ts";
import { checkAppliedKind } from "#server/apply/check-applied.ts";
import { decodeRaw, type Expected, type RawBody } from "#server/input/body.ts";
import { refuseManyValues } from "#server/input/many-values.ts";
import { optionsFault } from "#server/input/options.ts";
import { type EncodedObject } from "#server/objects/encode-once.ts";
import { type Answer, type Context } from "#server/request/pipeline.ts";
import { createObject } from "./create.ts";
import { checkName, checkNamespace } from "./steps/identity.ts";
import { isLong, longTurn, runSteps } from "./steps/pause.ts";
import { withVersions } from "./steps/versions.ts";
import { updateObject } from "./update.ts";
import { type Write, type WriteDeps } from "./write.ts";

const maxRaces = 5;

/** Server-side apply: creates missing objects, and tracks the owner of every field. */
export async function applyEndpoint(deps: WriteDeps, asked: Write, configuration: unknown): Promise<Answer> {
  const { context, resource } = asked;
  requireManager(context);
  const applied = checkApplied(asked, configuration);
  if (isLong(asked)) await longTurn();
  const write: Write = { ...asked, applied: true };
  const merge = (live: EncodedObject | undefined) => mergeApplied(deps, write, { applied, live });
  for (let attempt = 0; ; attempt++) {
    try {
      const encoded = await updateObject(deps, write, (_, current) => merge(current));
      return { type: "object", status: 200, resource, encoded };
    } catch (error) {
      if (!isNotFound(error) || write.subresource !== "") throw error;
    }
    try {
      return await createApplied(deps, write, () => merge(undefined));
    } catch (error) {
      // Somebody else created it meanwhile, so it must be changed instead.
      if (!isAlreadyExists(error) || attempt >= maxRaces) throw error;
    }
  }
}

async function createApplied(deps: WriteDeps, write: Write, merge: () => Promise<ApiObject>): Promise<Answer> {
  const { context, resource, name } = write;
  await deps.authorizeCreate(context);
  const object = await merge();
  const { uid } = object.metadata;
  if (uid) {
    const why = `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`;
    throw conflict(resource, name, why);
  }
  const encoded = await createObject(deps, write, object);
  return { type: "object", status: 201, resource, encoded };
}

/** The live object with the configuration applied, decoded, and with its new managed fields. */
async function mergeApplied(
  { clock, resources }: WriteDeps,
  write: Write,
  { applied, live }: { readonly applied: unknown; readonly live: EncodedObject | undefined },
): Promise<ApiObject> {
  const { context, resource, subresource, options } = write;
  const { manager, force } = options;
  const facts = { resource, liveObject: live?.object, applied, manager, force, subresource, now: clock.now() };
  // Others may have applied in another version.
  const merged = await withVersions({ resources, resource }, (versions) =>
    runSteps(applyPatch({ ...facts, versions }), write, live),
  );
  if (isLong(write, live)) refuseManyValues(merged.object);
  if (isLong(write, live)) await longTurn();
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

/** Returns the configuration as it was sent, after checking that it is for this object. */
export function checkApplied({ context, resource, name, namespace }: Write, configuration: unknown): unknown {
  if (!isObject(configuration)) throw badRequest("error decoding patch: an object was expected");
  checkAppliedKind(resource, configuration);
  const raw: RawBody = { value: configuration, text: undefined };
  // Unknown fields are refused when the configuration is merged, whatever the request says about its validation.
  const reading = { fieldValidation: "Ignore", defaults: false } as const;
  const { metadata = {} } = decodeRaw(context, resource as unknown as Expected, raw, reading) as Partial<ApiObject>;
  if (metadata.name) checkName(metadata.name, name);
  checkNamespace(metadata.namespace, namespace);
  const place = resource.scope === "Namespaced" ? { name, namespace } : { name };
  return { ...configuration, metadata: { ...(configuration.metadata as object | undefined), ...place } };
}

/** The configuration has already been checked, so the merged object is not checked strictly again. */
export const lenient = { fieldValidation: "Ignore", defaults: true } as const;
