import { type ApiObject, type Resource } from "#api/resource.ts";
import { forbidden, StatusError } from "#api/status.ts";
import { readObject } from "#server/input/body.ts";
import { type EncodedObject } from "#server/objects/encode-once.ts";
import { type Answer, type Context } from "#server/request/pipeline.ts";
import { admissionRequest, admit, mutate, orUndo } from "./steps/admit.ts";
import { commitNew } from "./steps/commit.ts";
import { generateName, retryName } from "./steps/generate-name.ts";
import { withHooks } from "./steps/hooks.ts";
import { placeInNamespace } from "./steps/identity.ts";
import { recordManagedFields } from "./steps/managed-fields.ts";
import { stampNew } from "./steps/metadata.ts";
import { dropDuplicateOwners } from "./steps/owners.ts";
import { isLong, longTurn } from "./steps/pause.ts";
import { lookAtNew, prepareNew, validateNew, warnOfNew } from "./steps/validate.ts";
import { type Write, type WriteDeps, writeOf } from "./write.ts";

/** POST: a new object. */
export async function createEndpoint(deps: WriteDeps, context: Context, resource: Resource): Promise<Answer> {
  const write = writeOf(context, resource, "CreateOptions");
  const object = await readObject(context, resource, write.options);
  context.steps.about?.(object.metadata.name ?? "");
  refuseVersion(object);
  const encoded = await createObject(deps, write, object);
  return { type: "object", status: 201, resource, encoded };
}

/** The steps of a create, in order. The object is not shared yet, so each step may change it. */
export async function createObject(deps: WriteDeps, write: Write, object: ApiObject): Promise<EncodedObject> {
  refuseLate(write, object);
  placeInNamespace(write, object);
  const prefix = generateName(object, deps.random);
  stampNew(write.resource, object, deps.clock.now());
  dropDuplicateOwners(write, object);
  // Here and below, only steps that have to wait make the rest wait: each wait takes time and memory.
  const recording = recordManagedFields(deps, write, { object, old: undefined });
  if (recording) await recording;
  if (isLong(write)) await longTurn();
  const create = () => admitAndCommit(deps, write, object);
  return await (prefix ? retryName(object, { prefix, random: deps.random }, create) : create());
}

async function admitAndCommit(deps: WriteDeps, write: Write, object: ApiObject): Promise<EncodedObject> {
  const version = { object, old: undefined };
  const request = admissionRequest(write, "CREATE", version);
  const mutating = mutate(deps, write, request);
  if (mutating) await mutating;
  // The selector of a job has it.
  object.metadata.uid ??= deps.objects.newUid();
  prepareNew(write, object, deps.clock.now());
  const looked = lookAtNew(write, object);
  const validating = validateNew(write, object, looked);
  if (validating) await validating;
  if (isLong(write)) await longTurn();
  warnOfNew(write, object, looked);
  return await orUndo(request, async () => {
    const admitting = admit(deps, write, request);
    if (admitting) await admitting;
    return withHooks(deps, { write, version }, (beside) =>
      commitNew(deps, write, { object, beside, specText: looked?.spec }),
    );
  });
}

/** A kind that is on its way out takes no new objects. */
function refuseLate({ resource, name }: Write, { metadata }: ApiObject): void {
  const { refusesCreate } = resource;
  if (refusesCreate !== undefined) throw forbidden(resource, metadata.name ?? name, refusesCreate);
}

/** Upstream's message, without a reason, because upstream detects this only in its store. */
function refuseVersion({ metadata: { resourceVersion } }: ApiObject): void {
  if (!resourceVersion || resourceVersion === "0") return;
  throw new StatusError("", "resourceVersion should not be set on objects to be created");
}
