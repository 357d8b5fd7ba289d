import { Scale } from "#api/autoscaling/scale.ts";
import { scaleOf, scalePathsOf, scaleSteps } from "#api/autoscaling/scale-of.ts";
import { type ApiObject, apiVersionOf, type Resource } from "#api/resource.ts";
import { invalid, staleObject } from "#api/status.ts";
import { atOnce } from "#lib/async/turns.ts";
import { isObject, setOwn } from "#lib/data/json-object.ts";
import { own } from "#lib/data/own.ts";
import { cloneJson } from "#lib/text/json.ts";
import { check } from "#schema/check.ts";
import { applyPatch } from "#server/apply/apply.ts";
import { type Entries } from "#server/apply/fields/entries.ts";
import { parentEntries, scaleEntries } from "#server/apply/scale-fields.ts";
import { decodeRaw, type Expected, readObject } from "#server/input/body.ts";
import { type WriteOptions } from "#server/input/options.ts";
import { applyType, mergeInto, patchBody, patchTypeOf } from "#server/input/patch-body.ts";
import { codecOf, EncodedObject } from "#server/objects/encode-once.ts";
import { type Objects } from "#server/objects/objects.ts";
import { type Answer, type Context } from "#server/request/pipeline.ts";
import { checkApplied, lenient, requireManager } from "#server/write/apply.ts";
import { checkName, checkNamespace, uidConflict } from "#server/write/steps/identity.ts";
import { updateObject } from "#server/write/update.ts";
import { type Write, type WriteDeps, writeOf } from "#server/write/write.ts";

const expected = Scale as unknown as Expected;

export async function readScale(deps: { objects: Objects }, context: Context, resource: Resource): Promise<Answer> {
  const { namespace, name } = context.info;
  return answer(resource, await deps.objects.get(resource, namespace, name));
}

/** PUT and PATCH of the number of replicas; the object itself is written. */
export async function writeScale(deps: WriteDeps, context: Context, resource: Resource): Promise<Answer> {
  const isPatch = context.info.verb === "patch";
  const write = writeOf(context, resource, isPatch ? "PatchOptions" : "UpdateOptions");
  const wanted = isPatch ? await patchedScale(deps, write) : await sentScale(context, write.options);
  const written = wanted.isApplied ? { ...write, applied: true } : write;
  const encoded = await updateObject(deps, written, (current) => {
    const { scale, managedFields } = wanted.from(current);
    checkScale(resource, scale, current);
    const changed = cloneJson(current);
    setScale(resource, changed, scale);
    if (managedFields) changed.metadata.managedFields = [...managedFields];
    return changed;
  });
  return answer(resource, encoded);
}

/** How the new Scale is derived from the current object. */
interface Wanted {
  /** It also decides the ownership. */
  readonly isApplied?: boolean;
  from(current: ApiObject): { readonly scale: Scale; readonly managedFields?: Entries };
}

async function sentScale(context: Context, options: WriteOptions): Promise<Wanted> {
  const scale = await readObject(context, Scale, options);
  return { from: () => ({ scale }) };
}

async function patchedScale(deps: WriteDeps, write: Write): Promise<Wanted> {
  const { context, resource, options } = write;
  const type = patchTypeOf(context, resource);
  const patch = await patchBody(context, type, options);
  if (type === applyType) return appliedScale(deps, write, patch);
  const { fieldValidation } = options;
  return {
    from(current) {
      const value = mergeInto(Scale, { type, patch, current: scaleOf(resource, current) });
      return {
        scale: decodeRaw(context, expected, { value, text: undefined }, { fieldValidation, defaults: true }) as Scale,
      };
    },
  };
}

/** A Scale has its own view of who owns the number; the result of the apply is written back to the object. */
function appliedScale(deps: WriteDeps, write: Write, configuration: unknown): Wanted {
  const { context, resource, options } = write;
  requireManager(context);
  const applied = checkApplied({ ...write, resource: Scale as unknown as Resource }, configuration);
  const apiVersion = apiVersionOf(resource);
  const paths = new Map([[apiVersion, scalePathsOf(resource).specReplicas]]);
  const { manager, force } = options;
  const facts = { resource: Scale as unknown as Resource, applied, manager, force, subresource: "scale" };
  return {
    isApplied: true,
    from(current) {
      const owners = current.metadata.managedFields ?? [];
      const live = scaleOf(resource, current);
      live.metadata.managedFields = [...scaleEntries(owners, paths)];
      const merged = atOnce(applyPatch({ ...facts, liveObject: live, now: deps.clock.now() }));
      const scale = decodeRaw(context, expected, { value: merged.object, text: undefined }, lenient) as Scale;
      return { scale, managedFields: parentEntries(owners, merged.managedFields ?? [], { apiVersion, paths }) };
    },
  };
}

/** A Scale is validated like an object, and must match the current object. */
function checkScale(resource: Resource, scale: Scale, { metadata: current }: ApiObject): void {
  const { name = "", namespace, uid, resourceVersion } = scale.metadata;
  checkName(name, current.name ?? "");
  checkNamespace(namespace, current.namespace);
  if (uid && uid !== current.uid) throw uidConflict(resource, { metadata: { ...current, uid } }, current);
  if (resourceVersion && resourceVersion !== current.resourceVersion) throw staleObject(resource, name);
  const faults = check(Scale.schema, scale);
  if (faults.length > 0) throw invalid(Scale, name, faults);
}

function answer(resource: Resource, { object, revision }: EncodedObject): Answer {
  const encoded = new EncodedObject(codecOf(Scale as unknown as Resource), revision, {
    object: scaleOf(resource, object),
  });
  return { type: "object", status: 200, resource: Scale as unknown as Resource, encoded };
}

/** Writes the number of replicas of a Scale into its object. */
export function setScale(resource: Resource, object: ApiObject, { spec }: Scale): void {
  setPath(object, scalePathsOf(resource).specReplicas, spec.replicas ?? 0);
}

/** Whoever defines a kind chooses the path, so nothing that objects inherit may be read or written. */
function setPath(object: ApiObject, path: string, value: unknown): void {
  const names = scaleSteps(path);
  const last = names.pop() ?? "";
  let at = object as unknown as Record<string, unknown>;
  for (const name of names) {
    const below = own(at, name);
    const next = isObject(below) ? below : {};
    if (next !== below) setOwn(at, name, next);
    at = next;
  }
  setOwn(at, last, value);
}
