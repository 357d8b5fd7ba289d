import { isObject } from "#lib/data/json-object.ts";
import { resolve, type Schema } from "#schema/schema.ts";

const maxFound = 20;

/**
 * The places of lists, maps and objects in a value that are replaced as a whole when they are merged. As upstream, the
 * values of maps are not looked at.
 */
export function findAtomics(schema: Schema, value: unknown): string[] {
  const found: string[] = [];
  search(schema, value, { path: "", found });
  return found;
}

interface Place {
  readonly path: string;
  readonly found: string[];
}

function search(schema: Schema, value: unknown, place: Place): void {
  const { path, found } = place;
  if (found.length >= maxFound || typeof value !== "object" || value === null) return;
  const resolved = resolve(schema);
  if (isAtomic(resolved, value)) found.push(path);
  if (resolved.type === "object" && isObject(value)) {
    for (const name of Object.keys(value)) {
      const field = Object.hasOwn(resolved.fields, name) ? resolved.fields[name] : undefined;
      if (!field) continue;
      const inner = field.granular ? granular(field.schema) : field.schema;
      search(inner, value[name], { path: `${path}.${name}`, found });
    }
  } else if (resolved.type === "list" && Array.isArray(value)) {
    for (const [index, item] of value.entries()) search(resolved.item, item, { path: `${path}[${index}]`, found });
  }
}

/** An object that is atomic elsewhere, but not in this field. */
function granular(schema: Schema): Schema {
  const inner = resolve(schema);
  return inner.type === "object" ? { ...inner, options: { ...inner.options, atomic: false } } : inner;
}

function isAtomic(schema: Exclude<Schema, { type: "lazy" }>, value: object): boolean {
  switch (schema.type) {
    case "object":
    case "map":
      return schema.options.atomic === true;
    case "list":
      return schema.options.list !== "set" && schema.options.list !== "map";
    case "any":
      return schema.options.opaque === true || Array.isArray(value);
    default:
      return false;
  }
}
