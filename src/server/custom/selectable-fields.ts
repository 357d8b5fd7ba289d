import { type CustomResourceSelectableField } from "#api/apiextensions/definition-fields.ts";
import { type ApiObject, type FieldGetter } from "#api/resource.ts";

/** How field selectors read the fields that a version makes selectable. The paths are simple ones, without brackets. */
export function selectableFieldsOf(
  fields: readonly CustomResourceSelectableField[] | undefined,
): Readonly<Record<string, FieldGetter<ApiObject>>> {
  const getters: Record<string, FieldGetter<ApiObject>> = {};
  for (const { jsonPath } of fields ?? []) {
    const name = jsonPath.replace(/^\./, "");
    const steps = name.split(".");
    getters[name] = (object) => textAt(object, steps);
  }
  return getters;
}

function textAt(object: unknown, steps: readonly string[]): string {
  let at = object;
  for (const step of steps) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, step)) return "";
    at = (at as Readonly<Record<string, unknown>>)[step];
  }
  return at === null || typeof at === "object" ? "" : String(at);
}
