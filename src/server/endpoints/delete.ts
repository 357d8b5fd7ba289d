import { DeleteOptions } from "#api/meta/delete-options.ts";
import { type ApiObject, type Resource } from "#api/resource.ts";
import { conflict, invalid, isNotFound, staleObject } from "#api/status.ts";
import { timestamp } from "#lib/clock.ts";
import { type FieldError, invalidValue, root } from "#schema/field-error.ts";
import { type EncodedObject } from "../objects/encode-once.ts";
import { type Answer, type Context } from "../pipeline.ts";
import { readAs } from "./body.ts";
import { selectionOf } from "./list.ts";
import { writeOptions } from "./options.ts";
import { admissionRequest, isFinished, type Write, type WriteDeps } from "./write.ts";

/** What became of it: `lives` has the object while finalizers or its grace period keep it. */
export type Deleted = { readonly lives: EncodedObject } | { readonly removed: ApiObject };

export async function deleteEndpoint(deps: WriteDeps, context: Context, resource: Resource): Promise<Answer> {
  const options = await readDeleteOptions(context);
  const write = writeFor(context, resource, context.info.name);
  const result = await deleteObject(deps, write, options);
  if ("lives" in result) return { type: "object", status: 200, resource, encoded: result.lives };
  return { type: "value", status: 200, value: success(resource, result.removed) };
}

export async function deleteCollection(deps: WriteDeps, context: Context, resource: Resource): Promise<Answer> {
  const options = await readDeleteOptions(context);
  const cache = await deps.objects.cache(resource);
  const found = cache.select(selectionOf(context, resource));
  // A few at a time: a large collection must not keep every other request waiting.
  const next = found.values();
  const worker = async (): Promise<void> => {
    for (const { object } of next) {
      const write = {
        ...writeFor(context, resource, object.metadata.name ?? ""),
        namespace: object.metadata.namespace ?? "",
      };
      await deleteObject(deps, write, options).catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      });
    }
  };
  await Promise.all(Array.from({ length: 16 }, worker));
  return { type: "value", status: 200, value: { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success" } };
}

const writeFor = (context: Context, resource: Resource, name: string): Write => ({
  context,
  resource,
  subresource: "",
  namespace: context.info.namespace,
  name,
  options: writeOptions(context, "DeleteOptions"),
});

export async function deleteObject(deps: WriteDeps, write: Write, options: DeleteOptions): Promise<Deleted> {
  const { resource, namespace, name } = write;
  for (let attempt = 0; attempt < 20; attempt++) {
    const current = await deps.objects.get(resource, namespace, name);
    checkPreconditions(resource, current.object, options);
    await deps.admission.validate(admissionRequest(write, "DELETE", { object: undefined, oldObject: current.object }));
    const result = await deleteOnce(deps, write, { current, options });
    if (result) return result;
  }
  throw staleObject(resource, name);
}

async function deleteOnce(
  deps: WriteDeps,
  write: Write,
  { current, options }: { current: EncodedObject; options: DeleteOptions },
): Promise<Deleted | undefined> {
  const { resource } = write;
  const dryRun = write.options.dryRun || (options.dryRun?.length ?? 0) > 0;
  const marked = markDeleted(resource, current.object, { options, now: deps.clock.now() });
  if (marked && !isFinished(resource, marked)) {
    if (marked === current.object || dryRun) return { lives: current };
    const encoded = await deps.objects.replace(resource, marked, current.revision);
    return encoded && { lives: encoded };
  }
  if (dryRun) return { removed: current.object };
  const removed = await deps.objects.remove(resource, current.object, current.revision);
  return removed === undefined ? undefined : { removed: current.object };
}

/** The object as it looks once its deletion has begun; the same object if that was so already. */
export function markDeleted(
  resource: Resource,
  object: ApiObject,
  { options, now }: { options: DeleteOptions; now: number },
): ApiObject {
  const { metadata } = object;
  const grace = resource.gracePeriodSeconds?.(object, options.gracePeriodSeconds) ?? 0;
  const finalizers = finalizersFor(metadata.finalizers ?? [], options);
  const isMarked = metadata.deletionTimestamp !== undefined;
  const shorter = isMarked && grace < (metadata.deletionGracePeriodSeconds ?? 0);
  const sameFinalizers =
    finalizers.length === (metadata.finalizers?.length ?? 0) &&
    finalizers.every((f) => metadata.finalizers?.includes(f));
  if (isMarked && !shorter && sameFinalizers) return object;
  const marked: ApiObject = { ...object, metadata: { ...metadata } };
  if (finalizers.length > 0) marked.metadata.finalizers = finalizers;
  else delete marked.metadata.finalizers;
  if (!isMarked || shorter) {
    // The moment by which it should be gone, from when deletion was first asked for.
    const began = isMarked
      ? Date.parse(metadata.deletionTimestamp ?? "") - (metadata.deletionGracePeriodSeconds ?? 0) * 1000
      : now;
    marked.metadata.deletionTimestamp = timestamp(Math.max(began, isMarked ? began : now) + grace * 1000);
    marked.metadata.deletionGracePeriodSeconds = grace;
    if (metadata.generation) marked.metadata.generation = metadata.generation + 1;
  }
  resource.prepareForDeletion?.(marked);
  return marked;
}

/** How dependents are dealt with is told to the garbage collector by a finalizer. */
function finalizersFor(finalizers: readonly string[], options: DeleteOptions): string[] {
  const policy = options.propagationPolicy ?? (options.orphanDependents === true ? "Orphan" : undefined);
  const background = options.orphanDependents === false;
  if (policy === undefined && !background) return [...finalizers];
  const others = finalizers.filter((name) => name !== "orphan" && name !== "foregroundDeletion");
  if (policy === "Orphan") return [...others, "orphan"];
  if (policy === "Foreground") return [...others, "foregroundDeletion"];
  return others;
}

function checkPreconditions(resource: Resource, { metadata }: ApiObject, { preconditions }: DeleteOptions): void {
  const { uid, resourceVersion } = preconditions ?? {};
  const name = metadata.name ?? "";
  if (uid !== undefined && uid !== metadata.uid) {
    throw conflict(
      resource,
      name,
      `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${metadata.uid}`,
    );
  }
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion) {
    throw conflict(
      resource,
      name,
      `Precondition failed: ResourceVersion in precondition: ${resourceVersion}, ResourceVersion in object meta: ${metadata.resourceVersion}`,
    );
  }
}

/** They come under the version of the resource that is deleted as well as under v1. */
const expected = { group: "", version: "v1", kind: "DeleteOptions", schema: DeleteOptions, anyVersion: true };

/** From the body, or from the query where there is none. */
export async function readDeleteOptions(context: Context): Promise<DeleteOptions> {
  const { request, query } = context;
  const hasBody = request.object !== undefined || (request.body?.length ?? 0) > 0;
  const options = hasBody
    ? ((await readAs(context, expected, { fieldValidation: "Ignore", defaults: true })) as DeleteOptions)
    : fromQuery(query);
  const faults = [...validateDeleteOptions(options)];
  if (faults.length > 0) throw invalid({ group: "meta.k8s.io", kind: "DeleteOptions" }, "", faults);
  return options;
}

function fromQuery(query: URLSearchParams): DeleteOptions {
  const grace = query.get("gracePeriodSeconds");
  const orphan = query.get("orphanDependents");
  const policy = query.get("propagationPolicy");
  return {
    ...(grace ? { gracePeriodSeconds: Number(grace) } : {}),
    ...(orphan ? { orphanDependents: orphan === "true" } : {}),
    ...(policy ? { propagationPolicy: policy } : {}),
  } as DeleteOptions;
}

function* validateDeleteOptions({
  gracePeriodSeconds,
  orphanDependents,
  propagationPolicy,
  dryRun,
}: DeleteOptions): Iterable<FieldError> {
  if (gracePeriodSeconds !== undefined && !Number.isSafeInteger(gracePeriodSeconds)) {
    yield invalidValue(root.child("gracePeriodSeconds"), String(gracePeriodSeconds), "must be a whole number");
  }
  if (orphanDependents !== undefined && propagationPolicy !== undefined) {
    yield invalidValue(
      root.child("propagationPolicy"),
      propagationPolicy,
      "orphanDependents and deletionPropagation cannot be both set",
    );
  }
  const policies = ["Background", "Foreground", "Orphan"];
  if (propagationPolicy !== undefined && !policies.includes(propagationPolicy)) {
    yield invalidValue(
      root.child("propagationPolicy"),
      propagationPolicy,
      `supported values: ${policies.map((p) => `"${p}"`).join(", ")}`,
    );
  }
  for (const value of dryRun ?? []) {
    if (value !== "All") yield invalidValue(root.child("dryRun"), value, 'supported values: "All"');
  }
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
