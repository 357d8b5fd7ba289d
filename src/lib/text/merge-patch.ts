import { isObject, setOwn } from "#lib/data/json-object.ts";
import { PatchError } from "./patch-error.ts";

/** RFC 7386. The input is not modified; unchanged parts are shared with it. */
export function applyMergePatch(document: unknown, patch: unknown): unknown {
  if (Array.isArray(patch)) return withoutNulls(patch);
  if (!isObject(patch)) throw new PatchError(400, "Invalid JSON Patch");
  return merge(document, patch);
}

function merge(document: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return isObject(document) ? patch : withoutNulls(patch);
  if (!isObject(document)) return withoutNulls(patch);
  let merged: Record<string, unknown> | undefined;
  for (const key of Object.keys(patch)) {
    const has = Object.hasOwn(document, key);
    const wanted = patch[key];
    if (wanted === null) {
      if (!has) continue;
      merged ??= { ...document };
      delete merged[key];
      continue;
    }
    const value = has && document[key] !== null ? merge(document[key], wanted) : withoutNulls(wanted);
    if (has && value === document[key]) continue;
    merged ??= { ...document };
    setOwn(merged, key, value);
  }
  return merged ?? document;
}

/** Drops nulls, which mean «remove», where there is nothing to remove. Nulls that are list items stay. */
export function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isObject(value)) return value;
  const kept: Record<string, unknown> = {};
  for (const key of Object.keys(value)) if (value[key] !== null) setOwn(kept, key, withoutNulls(value[key]));
  return kept;
}
