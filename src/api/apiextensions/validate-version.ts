import { type JsonSchema } from "#schema/json-schema.ts";
import { type Cursor } from "../cursor.ts";
import {
  type CustomResourceColumn,
  type CustomResourceSelectableField,
  type CustomResourceSubresources,
} from "./definition-fields.ts";
import { findPath } from "./simple-path.ts";

const columnTypes = ["boolean", "date", "integer", "number", "string"];
const columnFormats = ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];

export function validateColumn(at: Cursor<CustomResourceColumn>): void {
  const { type, format = "", jsonPath } = at.value;
  at.field("name").required();
  const types = `must be one of ${columnTypes.join(",")}`;
  if (at.field("type").required(types) && !columnTypes.includes(type)) at.field("type").invalid(types);
  if (format && !columnFormats.includes(format)) {
    at.field("format").invalid(`must be one of ${columnFormats.join(",")}`);
  }
  const path = at.under("JSONPath").as(jsonPath);
  if (path.required()) validateSimplePath(path);
}

function validateSimplePath(at: Cursor<string>): boolean {
  if (at.value.startsWith(".")) return true;
  at.invalid("must be a simple json path starting with .");
  return false;
}

export function validateSubresources(at: Cursor<CustomResourceSubresources>): void {
  const { scale } = at.value;
  if (!scale) return;
  validateReplicasPath(at.under("scale.specReplicasPath").as(scale.specReplicasPath), "spec");
  validateReplicasPath(at.under("scale.statusReplicasPath").as(scale.statusReplicasPath), "status");
  const selector = scale.labelSelectorPath ?? "";
  const path = at.under("scale.labelSelectorPath").as(selector);
  if (!selector || !validateSimplePath(path)) return;
  if (selector.startsWith(".spec.") || selector.startsWith(".status.")) return;
  path.invalid("should be a json path under either .spec or .status");
}

function validateReplicasPath(at: Cursor<string>, part: string): void {
  if (!at.required() || !validateSimplePath(at)) return;
  if (!at.value.startsWith(`.${part}.`)) at.invalid(`should be a json path under .${part}`);
}

const maxSelectableFields = 8;

export function validateSelectableFields(
  at: Cursor<readonly CustomResourceSelectableField[]>,
  schema: JsonSchema | undefined,
): void {
  if (at.value.length === 0) return;
  if (!schema) return at.invalid("may only be set when `version.schema.openAPIV3Schema` is not included", "");
  const seen = new Set<string>();
  for (const [index, field] of at.value.entries()) {
    validateSelectableField(at.key(index, field).field("jsonPath"), schema, seen);
  }
  if (seen.size > maxSelectableFields) at.tooMany(seen.size, maxSelectableFields);
}

function validateSelectableField(at: Cursor<string>, schema: JsonSchema, seen: Set<string>): void {
  if (!at.required()) return;
  const found = findPath(schema, at.value, { brackets: false });
  if ("fault" in found) return at.invalid(`is an invalid path: ${found.fault}`);
  if (found.steps[0]?.name === "metadata") at.invalid("must not point to fields in metadata");
  if (!["string", "boolean", "integer"].includes(found.schema.type ?? "")) {
    at.invalid(
      "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.",
    );
  }
  const path = found.steps.map(({ name }) => name).join(".");
  if (seen.has(path)) at.duplicate();
  seen.add(path);
}
