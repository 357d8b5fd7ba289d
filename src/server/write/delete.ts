import { faultsIn } from "#api/cursor.ts";
import { DeleteOptions, validateDeleteOptions } from "#api/meta/delete-options.ts";
import { type ApiObject, type Resource } from "#api/resource.ts";
import { conflict, isNotFound, staleObject } from "#api/status.ts";
import { isTrue } from "#lib/net/query-flag.ts";
import { type Answer, type Context } from "#server/request/pipeline.ts";
import { pageOf } from "../endpoints/list.ts";
import { codecOf, EncodedObject } from "../objects/encode-once.ts";
import { readAs } from "./body.ts";
import { markDeleted } from "./mark-deleted.ts";
import { notANumber, optionsFault } from "./options.ts";
import { admissionRequest, isFinished, type Write, type WriteDeps } from "./write.ts";

/** What became of it: `lives` has the object while finalizers or its grace period keep it. */
export type Deleted = { readonly lives: EncodedObject } | { readonly removed: EncodedObject };

export async function deleteEndpoint(deps: WriteDeps, context: Context, resource: Resource): Promise<Answer> {
  const options = await readDeleteOptions(context);
  const write = writeFor(context, resource, context.info.name);
  const result = await deleteObject(deps, write, options);
  if ("lives" in result) {
    // Who asked in the old way for the dependents to go too is told that this is still to come.
    const status = options.orphanDependents === false ? 202 : 200;
    return { type: "object", status, resource, encoded: result.lives };
  }
  const { removed } = result;
  if (resource.returnsDeleted) return { type: "object", status: 200, resource, encoded: removed };
  return { type: "value", status: 200, value: success(resource, removed.object) };
}

/** Answers with what it found; `limit` and `continue` delete a part at a time. */
export async function deleteCollection(deps: WriteDeps, context: Context, resource: Resource): Promise<Answer> {
  const options = await readDeleteOptions(context);
  const { items, facts } = await pageOf(deps.objects, context, resource);
  // A few at a time: a large collection must not keep every other request waiting.
  const next = items.values();
  const worker = async (): Promise<void> => {
    for (const { object } of next) {
      const { name = "", namespace = "" } = object.metadata;
      const write = { ...writeFor(context, resource, name), namespace };
      await deleteObject(deps, write, options).catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
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

export async function deleteObject(deps: WriteDeps, asked: Write, options: DeleteOptions): Promise<Deleted> {
  const { resource, namespace, name } = asked;
  const isDry = (options.dryRun?.length ?? 0) > 0;
  const write = isDry ? { ...asked, options: { ...asked.options, dryRun: true } } : asked;
  for (let attempt = 0; attempt < 20; attempt++) {
    const current = await deps.objects.get(resource, namespace, name);
    checkPreconditions(resource, current.object, options);
    await deps.admission.validate(admissionRequest(write, "DELETE", { object: undefined, oldObject: current.object }));
    const result = await deleteOnce(deps, write, { current, options });
    if (result) return result;
  }
  throw staleObject(resource, name);
}

/** undefined: somebody else was faster. */
async function deleteOnce(
  deps: WriteDeps,
  { resource, options: { dryRun } }: Write,
  { current, options }: { current: EncodedObject; options: DeleteOptions },
): Promise<Deleted | undefined> {
  const marked = markDeleted(resource, current.object, { options, now: deps.clock.now() });
  if (isFinished(resource, marked)) {
    const revision = dryRun ? current.revision : await deps.objects.remove(resource, current.object, current.revision);
    if (revision === undefined) return undefined;
    // Only what ends by a grace period shows that it was asked to.
    const { metadata, ...rest } = resource.gracePeriodSeconds ? marked : current.object;
    const object = { ...rest, metadata: { ...metadata } };
    return { removed: new EncodedObject(codecOf(resource), revision, { object }) };
  }
  if (marked === current.object) return { lives: current };
  if (dryRun) return { lives: new EncodedObject(codecOf(resource), current.revision, { object: marked }) };
  const encoded = await deps.objects.replace(resource, marked, current.revision);
  return encoded && { lives: encoded };
}

function checkPreconditions(resource: Resource, { metadata }: ApiObject, { preconditions }: DeleteOptions): void {
  const { uid, resourceVersion } = preconditions ?? {};
  if (resource.holdsDeletion) return checkHeld(resource, metadata, { uid, resourceVersion });
  const stored = resource.storedAs?.resource ?? resource;
  // Upstream names the kind here where it otherwise names the resource.
  const refuse = (why: string) => conflict({ ...stored, plural: stored.kind }, metadata.name ?? "", why);
  if (uid !== undefined && uid !== metadata.uid) {
    throw refuse(
      `the UID in the precondition (${uid}) does not match the UID in record (${metadata.uid}). The object might have been deleted and then recreated`,
    );
  }
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion) {
    throw refuse(
      `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${metadata.resourceVersion}). The object might have been modified`,
    );
  }
}

/** The same in the words that upstream has for a kind which ends in its own way. */
function checkHeld(
  resource: Resource,
  { name = "", ...metadata }: ApiObject["metadata"],
  wanted: { readonly uid: string | undefined; readonly resourceVersion: string | undefined },
): void {
  for (const [what, field] of [
    ["UID", "uid"],
    ["ResourceVersion", "resourceVersion"],
  ] as const) {
    const asked = wanted[field];
    if (asked === undefined || asked === metadata[field]) continue;
    const why = `${what} in precondition: ${asked}, ${what} in object meta: ${metadata[field]}`;
    throw conflict(resource, name, `Precondition failed: ${why}`);
  }
}

/** They come under the version of the resource that is deleted as well as under v1. */
const expected = { group: "", version: "v1", kind: "DeleteOptions", schema: DeleteOptions, anyVersion: true };

/** From the body, or from the query where there is none: never a bit of each. */
async function readDeleteOptions(context: Context): Promise<DeleteOptions> {
  const { request, query } = context;
  const hasBody = request.object !== undefined || (request.body?.length ?? 0) > 0;
  const options = hasBody
    ? ((await readAs(context, expected, { fieldValidation: "Ignore", defaults: true })) as DeleteOptions)
    : fromQuery(query);
  const faults = faultsIn(options, validateDeleteOptions);
  if (faults.length > 0) throw optionsFault("DeleteOptions", faults);
  return options;
}

function fromQuery(query: URLSearchParams): DeleteOptions {
  const grace = query.get("gracePeriodSeconds");
  const orphan = query.get("orphanDependents");
  const policy = query.get("propagationPolicy");
  if (grace && !/^[+-]?\d{1,15}$/.test(grace)) throw notANumber(grace);
  const dryRun = query.getAll("dryRun");
  return {
    ...(dryRun.length > 0 ? { dryRun } : {}),
    ...(grace ? { gracePeriodSeconds: Number(grace) } : {}),
    ...(orphan === null ? {} : { orphanDependents: isTrue(orphan) }),
    ...(policy ? { propagationPolicy: policy } : {}),
  };
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
