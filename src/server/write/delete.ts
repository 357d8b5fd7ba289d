import { type DeleteOptions } from "#api/meta/delete-options.ts";
import { type ApiObject, type Resource } from "#api/resource.ts";
import { isNotFound, staleObject } from "#api/status.ts";
import { pageOf } from "#server/endpoints/list.ts";
import { readDeleteOptions } from "#server/input/delete-options.ts";
import { codecOf, EncodedObject } from "#server/objects/encode-once.ts";
import { type Answer, type Context } from "#server/request/pipeline.ts";
import { admissionRequest } from "./steps/admit.ts";
import { isFinished, removeWhole } from "./steps/commit.ts";
import { markDeleted } from "./steps/mark-deleted.ts";
import { checkPreconditions } from "./steps/preconditions.ts";
import { type Write, type WriteDeps } from "./write.ts";

/** The outcome: `lives` has the object while finalizers or its grace period keep it. */
export type Deleted = { readonly lives: EncodedObject } | { readonly removed: EncodedObject };

/** DELETE: removes the object, or marks it if cleanup must come first. */
export async function deleteEndpoint(deps: WriteDeps, context: Context, resource: Resource): Promise<Answer> {
  const options = await readDeleteOptions(context);
  warnOfOrphans(context, resource, options);
  const write = writeFor(context, resource, context.info.name);
  return answerOf(resource, await deleteObject(deps, write, options), options);
}

/** Tells a client that did not say what becomes of the dependents that they stay. */
function warnOfOrphans({ warnings }: Context, { orphansDependents }: Resource, options: DeleteOptions): void {
  const isSaid = options.propagationPolicy !== undefined || options.orphanDependents !== undefined;
  if (orphansDependents && !isSaid) warnings.push(orphansDependents);
}

function answerOf(resource: Resource, result: Deleted, options: DeleteOptions): Answer {
  if ("lives" in result) {
    // Clients that use orphanDependents=false learn that deletion is still in progress.
    const status = options.orphanDependents === false ? 202 : 200;
    return { type: "object", status, resource, encoded: result.lives };
  }
  const { removed } = result;
  if (resource.returnsDeleted) return { type: "object", status: 200, resource, encoded: removed };
  return { type: "value", status: 200, value: success(resource, removed.object) };
}

/** Returns the objects it found; `limit` and `continue` delete a part at a time. */
export async function deleteCollection(deps: WriteDeps, context: Context, resource: Resource): Promise<Answer> {
  const options = await readDeleteOptions(context);
  warnOfOrphans(context, resource, options);
  const { items, facts } = await pageOf(deps.objects, context, resource);
  // A few at a time, so that a large collection does not delay every other request.
  const next = items.values();
  let hasFailed = false;
  const worker = async (): Promise<void> => {
    for (const { object } of next) {
      if (hasFailed) return;
      const { name = "", namespace = "" } = object.metadata;
      const write = { ...writeFor(context, resource, name), namespace };
      await deleteObject(deps, write, options).catch((error: unknown) => {
        if (isNotFound(error)) return;
        hasFailed = true;
        throw error;
      });
    }
  };
  await Promise.all(Array.from({ length: 16 }, worker));
  return { type: "list", resource, items, list: facts };
}

const writeFor = (context: Context, resource: Resource, name: string): Write => ({
  context,
  resource,
  subresource: "",
  namespace: context.info.namespace,
  name,
  options: { dryRun: false, manager: "", fieldValidation: "Warn", force: false },
});

const maxAttempts = 20;

/** The steps of a delete, in order, repeated if the object changed meanwhile. */
export async function deleteObject(deps: WriteDeps, asked: Write, options: DeleteOptions): Promise<Deleted> {
  const { resource, namespace, name } = asked;
  const isDry = (options.dryRun?.length ?? 0) > 0;
  const write = isDry ? { ...asked, options: { ...asked.options, dryRun: true } } : asked;
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const current = await deps.objects.get(resource, namespace, name);
    checkPreconditions(resource, current.object, options);
    await deps.admission.validate(admissionRequest(write, "DELETE", { old: current.object, deleteOptions: options }));
    const result = await deleteOnce(deps, write, { current, options });
    if (result) return result;
  }
  throw staleObject(resource, name);
}

/** Returns undefined if another writer was faster. */
async function deleteOnce(
  deps: WriteDeps,
  { resource, options: { dryRun } }: Write,
  { current, options }: { current: EncodedObject; options: DeleteOptions },
): Promise<Deleted | undefined> {
  const marked = markDeleted(resource, current.object, { options, now: deps.clock.now() });
  if (isFinished(resource, marked)) {
    const revision = dryRun ? current.revision : await removeWhole(deps, resource, current);
    return revision === undefined ? undefined : { removed: lastVersion(resource, revision, { marked, current }) };
  }
  if (marked === current.object) return { lives: current };
  if (dryRun) return { lives: new EncodedObject(codecOf(resource), current.revision, { object: marked }) };
  const encoded = await deps.objects.replace(resource, marked, current.revision);
  return encoded && { lives: encoded };
}

/** The response for an object that is gone: only kinds with a grace period show the deletion mark. */
function lastVersion(
  resource: Resource,
  revision: number,
  { marked, current }: { readonly marked: ApiObject; readonly current: EncodedObject },
): EncodedObject {
  const { metadata, ...rest } = resource.gracePeriodSeconds ? marked : current.object;
  return new EncodedObject(codecOf(resource), revision, { object: { ...rest, metadata: { ...metadata } } });
}

const success = (resource: Resource, { metadata }: ApiObject) => ({
  kind: "Status",
  apiVersion: "v1",
  metadata: {},
  status: "Success",
  details: {
    name: metadata.name,
    ...(resource.group ? { group: resource.group } : {}),
    kind: resource.plural,
    uid: metadata.uid,
  },
});
