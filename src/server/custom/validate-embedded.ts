import { type Cursor, faultsIn } from "#api/cursor.ts";
import { dns1035Label, pathSegmentName } from "#api/meta/names.ts";
import { type ObjectMeta } from "#api/meta/object-meta.ts";
import { validateObjectMeta } from "#api/meta/validate-meta.ts";
import { type ApiObject } from "#api/resource.ts";
import { type FieldPath, invalidValue, requiredValue, root } from "#schema/field-error.ts";
import { itemsOf, type JsonSchema, memberOf } from "#schema/json-schema.ts";

/** Resources within a custom resource have a kind, a version and sound metadata. */
export function validateEmbedded(at: Cursor<ApiObject>, json: JsonSchema): void {
  if (hasEmbedded(json)) visit(json, at.value, root, at);
}

const known = new WeakMap<JsonSchema, boolean>();

/** Few schemas have any, so most objects are not searched for them. */
function hasEmbedded(json: JsonSchema): boolean {
  let found = known.get(json);
  if (found === undefined) {
    found = json["x-kubernetes-embedded-resource"] === true || partsOf(json).some(hasEmbedded);
    known.set(json, found);
  }
  return found;
}

function partsOf(json: JsonSchema): JsonSchema[] {
  const { properties = {}, additionalProperties } = json;
  const items = itemsOf(json);
  const others = typeof additionalProperties === "object" ? [additionalProperties] : [];
  return [...Object.values(properties), ...others, ...(items ? [items] : [])];
}

function visit(json: JsonSchema, value: unknown, path: FieldPath, at: Cursor): void {
  if (typeof value !== "object" || value === null || at.isFull || !hasEmbedded(json)) return;
  if (Array.isArray(value)) {
    const items = itemsOf(json);
    if (items) for (const [index, item] of value.entries()) visit(items, item, path.index(index), at);
    return;
  }
  const object = value as Readonly<Record<string, unknown>>;
  if (json["x-kubernetes-embedded-resource"]) validateResource(object, path, at);
  for (const [name, inner] of Object.entries(object)) {
    const member = memberOf(json, name);
    if (member) visit(member, inner, path.child(name), at);
  }
}

function validateResource(object: Readonly<Record<string, unknown>>, path: FieldPath, at: Cursor): void {
  const { apiVersion, kind, metadata } = object;
  if (apiVersion === undefined) at.add(() => requiredValue(path.child("apiVersion")));
  else if (typeof apiVersion !== "string") wrong(at, path.child("apiVersion"), apiVersion, "must be a string");
  else if (apiVersion === "") wrong(at, path.child("apiVersion"), apiVersion, "must not be empty");
  else if (apiVersion.split("/").length > 2) {
    wrong(at, path.child("apiVersion"), apiVersion, `unexpected GroupVersion string: ${apiVersion}`);
  }
  validateKind(kind, path.child("kind"), at);
  if (metadata === undefined) return;
  const named = { name: "fakename", ...(metadata as ObjectMeta) };
  const scope = named.namespace ? "Namespaced" : "Cluster";
  const rules = { scope, nameRule: pathSegmentName, freeFinalizers: true } as const;
  for (const fault of faultsIn({ metadata: named }, (inner) => validateObjectMeta(inner, rules))) {
    at.add(() => ({ ...fault, path: `${path}.${fault.path}` }));
  }
}

function validateKind(kind: unknown, path: FieldPath, at: Cursor): void {
  if (kind === undefined) return at.add(() => requiredValue(path));
  if (typeof kind !== "string") return wrong(at, path, kind, "must be a string");
  if (kind === "") return wrong(at, path, kind, "must not be empty");
  const faults = dns1035Label.all(kind.toLowerCase());
  if (faults.length > 0) wrong(at, path, kind, `may have mixed case, but should otherwise match: ${faults.join(",")}`);
}

const wrong = (at: Cursor, path: FieldPath, value: unknown, detail: string): void =>
  at.add(() => invalidValue(path, value, detail));
