import { type ApiObject, type Resource } from "#api/resource.ts";
import {
  type FieldError,
  type FieldPath,
  forbiddenValue,
  invalidValue,
  requiredValue,
  root,
  tooLong,
} from "#schema/field-error.ts";
import { type Schema } from "#schema/schema.ts";
import { semanticEqual } from "./equal.ts";
import { validateLabels } from "./label-selector.ts";
import { dns1123Label, maskTrailingDash, qualifiedName } from "./names.ts";
import { type ManagedFieldsEntry, type OwnerReference } from "./object-meta.ts";

type Named = Pick<Resource, "scope" | "nameRule" | "freeFinalizers">;

/** Every fault of an object's metadata, whatever its kind. */
export function* validateObjectMeta(
  resource: Named,
  { metadata }: ApiObject,
  path: FieldPath = root.child("metadata"),
): Iterable<FieldError> {
  const { name, generateName } = metadata;
  if (generateName) {
    const fault = resource.nameRule(maskTrailingDash(generateName));
    if (fault) yield invalidValue(path.child("generateName"), generateName, fault);
  }
  if (!name) {
    yield requiredValue(path.child("name"), "name or generateName is required");
  } else {
    const fault = resource.nameRule(name);
    if (fault) yield invalidValue(path.child("name"), name, fault);
  }
  yield* validateNamespace(resource, metadata.namespace, path.child("namespace"));
  const { generation = 0 } = metadata;
  if (generation < 0) yield invalidValue(path.child("generation"), generation, "must be greater than or equal to 0");
  const { labels, annotations, ownerReferences, finalizers, managedFields } = metadata;
  if (labels) yield* validateLabels(labels, path.child("labels"));
  if (annotations) yield* validateAnnotations(annotations, path.child("annotations"));
  if (ownerReferences) yield* validateOwnerReferences(ownerReferences, path.child("ownerReferences"));
  if (finalizers) {
    yield* validateFinalizers(finalizers, path.child("finalizers"));
    if (!resource.freeFinalizers) yield* validateFinalizerDomains(finalizers, path.child("finalizers"));
  }
  if (managedFields) yield* validateManagedFields(managedFields, path.child("managedFields"));
}

function* validateNamespace({ scope }: Named, namespace: string | undefined, path: FieldPath): Iterable<FieldError> {
  if (scope === "Cluster") {
    if (namespace) yield forbiddenValue(path, "not allowed on this type");
  } else if (!namespace) {
    yield requiredValue(path);
  } else {
    for (const fault of dns1123Label.all(namespace)) yield invalidValue(path, namespace, fault);
  }
}

const maxAnnotationBytes = 262144;

export function* validateAnnotations(
  annotations: Readonly<Record<string, string>> | undefined,
  path: FieldPath,
): Iterable<FieldError> {
  let size = 0;
  for (const [key, value] of Object.entries(annotations ?? {})) {
    for (const fault of qualifiedName.all(key.toLowerCase())) yield invalidValue(path, key, fault);
    size += Buffer.byteLength(key) + Buffer.byteLength(value);
  }
  if (size > maxAnnotationBytes) yield tooLong(path, maxAnnotationBytes);
}

function* validateOwnerReferences(
  references: readonly OwnerReference[] | undefined,
  path: FieldPath,
): Iterable<FieldError> {
  let first: string | undefined;
  for (const reference of references ?? []) {
    yield* validateOwnerReference(reference, path);
    if (!reference.controller) continue;
    const name = `${reference.kind}/${reference.name}`;
    if (first !== undefined) {
      const text = `Only one reference can have Controller set to true. Found "true" in references for ${first} and ${name}`;
      yield invalidValue(path, references, text);
    }
    first ??= name;
  }
}

function* validateOwnerReference(reference: OwnerReference, path: FieldPath): Iterable<FieldError> {
  const { apiVersion = "", kind, name, uid } = reference;
  const slash = apiVersion.indexOf("/");
  const malformed = slash !== apiVersion.lastIndexOf("/");
  if (malformed || apiVersion.slice(slash + 1) === "") {
    yield invalidValue(path.child("apiVersion"), apiVersion, "version must not be empty");
  }
  if (!kind) yield invalidValue(path.child("kind"), kind ?? "", "must not be empty");
  if (!name) yield invalidValue(path.child("name"), name ?? "", "must not be empty");
  if (!uid) yield invalidValue(path.child("uid"), uid ?? "", "must not be empty");
  if (apiVersion === "v1" && kind === "Event") {
    yield invalidValue(path, reference, "/v1, Kind=Event is disallowed from being an owner");
  }
}

function* validateFinalizers(finalizers: readonly string[] | undefined, path: FieldPath): Iterable<FieldError> {
  for (const finalizer of finalizers ?? []) {
    for (const fault of qualifiedName.all(finalizer)) yield invalidValue(path, finalizer, fault);
  }
  if (finalizers?.includes("orphan") && finalizers.includes("foregroundDeletion")) {
    yield invalidValue(path, finalizers, "finalizer orphan and foregroundDeletion cannot be both set");
  }
}

const standardFinalizers: readonly string[] = ["kubernetes", "orphan", "foregroundDeletion"];

function* validateFinalizerDomains(finalizers: readonly string[], path: FieldPath): Iterable<FieldError> {
  for (const [index, name] of finalizers.entries()) {
    if (name.includes("/") || standardFinalizers.includes(name)) continue;
    const detail = "name is neither a standard finalizer name nor is it fully qualified";
    yield invalidValue(path.index(index), name, detail);
  }
}

function* validateManagedFields(
  entries: readonly ManagedFieldsEntry[] | undefined,
  path: FieldPath,
): Iterable<FieldError> {
  for (const [index, { operation = "", fieldsType, manager, subresource }] of (entries ?? []).entries()) {
    const at = path.index(index);
    if (operation !== "Apply" && operation !== "Update") {
      yield invalidValue(at.child("operation"), operation, "must be `Apply` or `Update`");
    }
    if (fieldsType && fieldsType !== "FieldsV1") {
      yield invalidValue(at.child("fieldsType"), fieldsType, "must be `FieldsV1`");
    }
    yield* validateFieldManager(manager ?? "", at.child("manager"));
    if (subresource && Buffer.byteLength(subresource) > 256) yield tooLong(at.child("subresource"), 256);
  }
}

/** Short and of ASCII, as nearly all are: nothing is wrong with it. */
export const isPlainManager = (manager: string): boolean => /^[ -~]{0,128}$/.test(manager);

/** The name under which a client writes. */
export function* validateFieldManager(manager: string, path: FieldPath): Iterable<FieldError> {
  if (isPlainManager(manager)) return;
  if (Buffer.byteLength(manager) > 128) yield tooLong(path, 128);
  for (const { 0: character, index } of manager.matchAll(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu)) {
    const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
    const position = Buffer.byteLength(manager.slice(0, index));
    yield invalidValue(path, manager, `invalid character U+${code} (at position ${position})`);
  }
}

/** Faults of a change of metadata; `validateObjectMeta` sees the rest. */
export function* validateObjectMetaUpdate(
  { metadata }: ApiObject,
  { metadata: old }: ApiObject,
  path: FieldPath = root.child("metadata"),
): Iterable<FieldError> {
  if (old.deletionTimestamp) {
    const added = new Set(metadata.finalizers ?? []).difference(new Set(old.finalizers ?? []));
    if (added.size > 0) {
      const names = [...added].sort().map((name) => JSON.stringify(name));
      const text = `no new finalizers can be added if the object is being deleted, found new finalizers []string{${names.join(", ")}}`;
      yield forbiddenValue(path.child("finalizers"), text);
    }
  }
  if (!metadata.resourceVersion) {
    yield invalidValue(path.child("resourceVersion"), "", "must be specified for an update");
  }
  if ((metadata.generation ?? 0) < (old.generation ?? 0)) {
    yield invalidValue(path.child("generation"), metadata.generation ?? 0, "must not be decremented");
  }
  for (const name of ["name", "namespace", "uid"] as const) {
    const value = metadata[name] ?? "";
    if (value !== (old[name] ?? "")) yield immutable(path.child(name), value);
  }
  for (const name of ["creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] as const) {
    if (!sameMoment(metadata[name], old[name])) yield immutable(path.child(name), metadata[name]);
  }
}

const sameMoment = (a: string | number | undefined, b: string | number | undefined): boolean =>
  a === b || (typeof a === "string" && typeof b === "string" && Date.parse(a) === Date.parse(b));

const immutable = (path: FieldPath, value: unknown): FieldError => invalidValue(path, value, "field is immutable");

/** A fault if the value is not what it was. */
export function* validateImmutable(
  schema: Schema,
  value: unknown,
  old: unknown,
  path: FieldPath,
): Iterable<FieldError> {
  if (!semanticEqual(schema, value, old)) yield immutable(path, value);
}
