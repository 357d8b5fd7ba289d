import { type ApiObject, apiVersionOf, type Resource } from "#api/resource.ts";
import { lastAppliedAnnotation } from "#api/well-known.ts";
import { isObject } from "#lib/data/json-object.ts";
import { sortedJson } from "#lib/text/json.ts";
import { faultsIn } from "./check-applied.ts";
import { compare } from "./fields/compare.ts";
import { difference, type FieldSet, noFields } from "./fields/field-set.ts";
import { ownFields } from "./fields/own-fields.ts";
import { encode } from "./fields/path-element.ts";
import { shapeOf } from "./fields/shape.ts";

const maxAnnotationBytes = 256 * 1024;

/**
 * Fields that client-side apply wrote and that still have its value: `kubectl apply --server-side` may take them over
 * without a conflict.
 */
export function lastAppliedFields(resource: Resource, live: ApiObject): FieldSet {
  const text = live.metadata.annotations?.[lastAppliedAnnotation];
  const applied = text ? parse(text) : undefined;
  if (!isObject(applied) || applied.apiVersion !== apiVersionOf(resource)) return noFields;
  if (faultsIn(resource.schema, applied) || faultsIn(resource.schema, live)) return noFields;
  const shape = shapeOf(resource.schema);
  const delta = compare(shape, applied, live);
  const unchanged = difference(ownFields(shape, applied), delta?.changed ?? noFields);
  return difference(unchanged, delta?.removed ?? noFields);
}
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Keeps the annotation of client-side apply up to date, so that a user can go back to it. */
export function withLastApplied(merged: ApiObject, applied: Readonly<Record<string, unknown>>): ApiObject {
  const { annotations } = merged.metadata;
  if (!annotations?.[lastAppliedAnnotation]) return merged;
  const { [lastAppliedAnnotation]: _, ...others } = annotations;
  const value = `${sortedJson(withoutAnnotation(applied), encode)}\n`;
  const size = Object.entries({ ...others, [lastAppliedAnnotation]: value }).reduce(
    (sum, [name, text]) => sum + Buffer.byteLength(name) + Buffer.byteLength(text),
    0,
  );
  const next = size > maxAnnotationBytes ? others : { ...annotations, [lastAppliedAnnotation]: value };
  return { ...merged, metadata: { ...merged.metadata, annotations: next } };
}

function withoutAnnotation(applied: Readonly<Record<string, unknown>>): unknown {
  const { metadata } = applied;
  if (!isObject(metadata) || !isObject(metadata.annotations)) return applied;
  const { [lastAppliedAnnotation]: _, ...annotations } = metadata.annotations;
  const { annotations: __, ...rest } = metadata;
  return { ...applied, metadata: Object.keys(annotations).length > 0 ? { ...rest, annotations } : rest };
}
