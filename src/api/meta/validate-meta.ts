import { type Cursor } from "../cursor.ts";
import { type ApiObject, type Resource } from "../resource.ts";
import { validateLabels } from "./label-selector.ts";
import { dns1123Label, maskTrailingDash, qualifiedName } from "./names.ts";
import { type ManagedFieldsEntry, type ObjectMeta, type OwnerReference } from "./object-meta.ts";

type Named = Pick<Resource, "scope" | "nameRule" | "freeFinalizers">;

/** Every fault of an object's metadata, whatever its kind. */
export function validateObjectMeta(object: Cursor<ApiObject>, resource: Named): void {
  const at = object.field("metadata");
  const { name, generateName, generation = 0 } = at.value;
  if (generateName) at.field("generateName").invalid(resource.nameRule(maskTrailingDash(generateName)));
  if (name) at.field("name").invalid(resource.nameRule(name));
  else at.field("name").missing("name or generateName is required");
  validateNamespace(at, resource);
  if (generation < 0) at.field("generation").atLeast(0);
  at.on("labels", validateLabels);
  at.on("annotations", validateAnnotations);
  validateOwnerReferences(at);
  validateFinalizers(at, resource);
  at.each("managedFields", validateManagedFields);
}

function validateNamespace(at: Cursor<ObjectMeta>, { scope }: Named): void {
  if (scope === "Cluster") at.set("namespace")?.forbidden("not allowed on this type");
  else if (at.field("namespace").required()) at.field("namespace").rule(dns1123Label);
}

export const maxAnnotationBytes = 262144;

export function validateAnnotations(at: Cursor<Readonly<Record<string, string>> | undefined>): void {
  let size = 0;
  for (const [key, value] of Object.entries(at.value ?? {})) {
    for (const fault of qualifiedName.all(key.toLowerCase())) at.invalid(fault, key);
    size += Buffer.byteLength(key) + Buffer.byteLength(value);
  }
  if (size > maxAnnotationBytes) at.tooLong(maxAnnotationBytes);
}

/** The metadata of a template: labels and annotations, which are copied. Anything else would have no effect. */
export function validateTemplateMeta(at: Cursor<ObjectMeta>): void {
  at.on("annotations", validateAnnotations);
  at.on("labels", validateLabels);
  for (const name of Object.keys(at.value)) {
    if (name !== "annotations" && name !== "labels") at.under(name).forbidden("cannot be set");
  }
}

/** Upstream reports faults of an owner at the list. */
function validateOwnerReferences(metadata: Cursor<ObjectMeta>): void {
  const { ownerReferences = [] } = metadata.value;
  let first: string | undefined;
  for (const reference of ownerReferences) {
    const at = metadata.field("ownerReferences");
    validateOwnerReference(at.as(reference));
    if (!reference.controller) continue;
    const name = `${reference.kind}/${reference.name}`;
    if (first !== undefined) {
      const text = `Only one reference can have Controller set to true. Found "true" in references for ${first} and ${name}`;
      // Once: the fault shows all references, and there may be thousands.
      at.invalid(text);
      return;
    }
    first = name;
  }
}

/** These fields are used to look up owners, so their length is limited. */
const maxReferenceChars = 1024;

function validateOwnerReference(at: Cursor<OwnerReference>): void {
  const { apiVersion = "", kind } = at.value;
  for (const field of ["apiVersion", "kind", "name", "uid"] as const) {
    if ((at.value[field] ?? "").length > maxReferenceChars) at.field(field).tooLong(maxReferenceChars);
  }
  const slash = apiVersion.indexOf("/");
  const malformed = slash !== apiVersion.lastIndexOf("/");
  if (malformed || apiVersion.slice(slash + 1) === "") {
    at.field("apiVersion").invalid("version must not be empty", apiVersion);
  }
  for (const name of ["kind", "name", "uid"] as const) {
    if (!at.value[name]) at.field(name).invalid("must not be empty", "");
  }
  if (apiVersion === "v1" && kind === "Event") at.invalid("/v1, Kind=Event is disallowed from being an owner");
}

const standardFinalizers: readonly string[] = ["kubernetes", "orphan", "foregroundDeletion"];

function validateFinalizers(metadata: Cursor<ObjectMeta>, { freeFinalizers }: Named): void {
  const { finalizers = [] } = metadata.value;
  if (finalizers.length === 0) return;
  const list = metadata.field("finalizers");
  for (const finalizer of finalizers) list.rule(qualifiedName, finalizer);
  if (finalizers.includes("orphan") && finalizers.includes("foregroundDeletion")) {
    list.invalid("finalizer orphan and foregroundDeletion cannot be both set");
  }
  if (!freeFinalizers) metadata.each("finalizers", validateFinalizerDomain);
}

/** A finalizer is one of the standard ones, or has a domain in its name. */
export function validateFinalizerDomain(at: Cursor<string>): void {
  if (at.value.includes("/") || standardFinalizers.includes(at.value)) return;
  at.invalid("name is neither a standard finalizer name nor is it fully qualified");
}

function validateManagedFields(at: Cursor<ManagedFieldsEntry>): void {
  const { operation = "", fieldsType, manager = "", subresource } = at.value;
  if (operation !== "Apply" && operation !== "Update") {
    at.field("operation").invalid("must be `Apply` or `Update`", operation);
  }
  if (fieldsType && fieldsType !== "FieldsV1") at.field("fieldsType").invalid("must be `FieldsV1`");
  validateFieldManager(at.field("manager").as(manager));
  if (subresource && Buffer.byteLength(subresource) > 256) at.field("subresource").tooLong(256);
}

/** Whether the name is short and ASCII, as nearly all are. Such a name has no fault. */
export const isPlainManager = (manager: string): boolean => /^[ -~]{0,128}$/.test(manager);

/** Checks the name under which a client sets fields. */
export function validateFieldManager(at: Cursor<string>): void {
  const { value: manager } = at;
  if (isPlainManager(manager)) return;
  if (Buffer.byteLength(manager) > 128) at.tooLong(128);
  for (const { 0: character, index } of manager.matchAll(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu)) {
    const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
    const position = Buffer.byteLength(manager.slice(0, index));
    at.invalid(`invalid character U+${code} (at position ${position})`);
  }
}

/** Faults of a change of metadata; `validateObjectMeta` sees the rest. */
export function validateObjectMetaUpdate(object: Cursor<ApiObject>, { metadata: old }: ApiObject): void {
  const at = object.field("metadata");
  const { finalizers, generation = 0 } = at.value;
  if (old.deletionTimestamp) {
    const added = new Set(finalizers ?? []).difference(new Set(old.finalizers ?? []));
    if (added.size > 0) {
      const names = [...added].sort().map((name) => JSON.stringify(name));
      const text = `no new finalizers can be added if the object is being deleted, found new finalizers []string{${names.join(", ")}}`;
      at.field("finalizers").forbidden(text);
    }
  }
  if (!at.value.resourceVersion) at.field("resourceVersion").invalid("must be specified for an update", "");
  if (generation < (old.generation ?? 0)) at.field("generation").invalid("must not be decremented", generation);
  for (const name of ["name", "namespace", "uid"] as const) {
    const value = at.value[name] ?? "";
    if (value !== (old[name] ?? "")) at.field(name).invalid("field is immutable", value);
  }
  for (const name of ["creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] as const) {
    if (!sameMoment(at.value[name], old[name])) at.field(name).invalid("field is immutable");
  }
}

const sameMoment = (a: string | number | undefined, b: string | number | undefined): boolean =>
  a === b || (typeof a === "string" && typeof b === "string" && Date.parse(a) === Date.parse(b));
