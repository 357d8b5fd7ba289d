import { type ApiObject, type Resource } from "#api/resource.ts";
import { keepAllButStatus } from "#api/rules.ts";
import { isNotFound, staleObject } from "#api/status.ts";
import { readObject } from "#server/input/body.ts";
import { type EncodedObject } from "#server/objects/encode-once.ts";
import { type Answer, type Context } from "#server/request/pipeline.ts";
import { createObject } from "./create.ts";
import { admissionRequest, admit, mutate, orUndo } from "./steps/admit.ts";
import { commitChange, isFinished, type NextVersion, removeFinished } from "./steps/commit.ts";
import { withHooks } from "./steps/hooks.ts";
import { checkName, matchIdentity, uidConflict } from "./steps/identity.ts";
import { recordManagedFields } from "./steps/managed-fields.ts";
import { keepIdentity } from "./steps/metadata.ts";
import { dropDuplicateOwners } from "./steps/owners.ts";
import { isLong, longTurn } from "./steps/pause.ts";
import { prepareChange, validateChange, warn } from "./steps/validate.ts";
import { type Write, type WriteDeps, writeOf } from "./write.ts";

/** PUT: replaces the whole object. */
export async function updateEndpoint(deps: WriteDeps, context: Context, resource: Resource): Promise<Answer> {
  const write = writeOf(context, resource, "UpdateOptions");
  const read = () => readObject(context, resource, write.options);
  const sent = await read();
  checkName(sent.metadata.name, write.name);
  try {
    const encoded = await updateObject(deps, write, freshEachTime(sent, read));
    return { type: "object", status: 200, resource, encoded };
  } catch (error) {
    if (!isNotFound(error) || !resource.createOnUpdate || write.subresource !== "") throw error;
  }
  return await createInstead(deps, write, read);
}

/** Decoded once for the usual case; a retry after a conflict needs an object that no step has changed. */
function freshEachTime<T>(first: T, read: () => Promise<T>): () => T | Promise<T> {
  let unused: T | undefined = first;
  return () => {
    const object = unused ?? read();
    unused = undefined;
    return object;
  };
}

async function createInstead(deps: WriteDeps, write: Write, read: () => Promise<ApiObject>): Promise<Answer> {
  const { context, resource, namespace } = write;
  await deps.authorizeCreate(context);
  const object = await read();
  if (object.metadata.uid) throw uidConflict(resource, { metadata: { ...object.metadata, namespace } }, undefined);
  const encoded = await createObject(deps, write, object);
  return { type: "object", status: 201, resource, encoded };
}

/** Makes a new version from the current one; called again after a conflict. */
export type Produce<T extends ApiObject> = (current: T, encoded: EncodedObject<T>) => T | Promise<T>;

const maxAttempts = 20;

/** Reads, changes and writes, and starts again if the object changed meanwhile. Returns the current version. */
export async function updateObject<T extends ApiObject>(
  deps: WriteDeps,
  write: Write<T>,
  produce: Produce<T>,
): Promise<EncodedObject> {
  const { resource, namespace, name } = write;
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const current = await deps.objects.get(resource, namespace, name);
    const producing = produce(current.object, current);
    const object = producing instanceof Promise ? await producing : producing;
    if (isLong(write, current)) await longTurn();
    const written = await updateOnce(deps, write as unknown as Write, { object, current });
    if (written) return written;
  }
  throw staleObject(resource, name);
}

/** The steps of an update, in order. Returns undefined if another writer was faster. */
async function updateOnce(
  deps: WriteDeps,
  write: Write,
  { object, current }: NextVersion,
): Promise<EncodedObject | undefined> {
  const version = { object, old: current.object };
  matchIdentity(write, version);
  keepIdentity(write.resource, version);
  // A webhook sees the whole object, although the client need not have sent what it cannot change.
  if (write.subresource === "status") keepAllButStatus(object, version.old);
  dropDuplicateOwners(write, object);
  // Only steps that have to wait make the rest wait, as in a create.
  const recording = recordManagedFields(deps, write, version, current);
  if (recording) await recording;
  if (isLong(write, current)) await longTurn();
  const request = admissionRequest(write, "UPDATE", version);
  const mutating = mutate(deps, write, request);
  if (mutating) await mutating;
  prepareChange(write, version, deps.clock.now());
  const validating = validateChange(write, version, current);
  if (validating) await validating;
  if (isLong(write, current)) await longTurn();
  warn(write, version);
  return await orUndo(request, async () => {
    const admitting = admit(deps, write, request);
    if (admitting) await admitting;
    if (isFinished(write.resource, object)) return removeFinished(deps, write, { object, current });
    return withHooks(deps, { write, version }, (beside) => commitChange(deps, write, { object, current, beside }));
  });
}
