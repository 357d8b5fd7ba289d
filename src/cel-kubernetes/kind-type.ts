import {
  boolType,
  bytesType,
  doubleType,
  dynType,
  intType,
  listType,
  mapType,
  stringType,
  structType,
  type Type,
  timestampType,
} from "#cel/types/type.ts";
import { type ObjectSchema, type Schema } from "#schema/schema.ts";
import { spellingsOf } from "./escape.ts";

/** The type of the objects of a built-in kind, as their OpenAPI describes them. */
export function kindType(schema: Schema): Type {
  switch (schema.type) {
    case "string":
    case "duration":
    case "quantity":
      return stringType;
    case "int32":
    case "int64":
      return intType;
    case "double":
      return doubleType;
    case "boolean":
      return boolType;
    case "bytes":
      return bytesType;
    case "time":
    case "microTime":
      return timestampType;
    case "list":
      return listType(kindType(schema.item));
    case "map":
      return mapType(stringType, kindType(schema.value));
    case "object":
      return objectType(schema);
    case "lazy":
      return kindType(schema.get());
    default:
      return dynType;
  }
}

const known = new WeakMap<ObjectSchema<unknown>, Type>();

/** Fields are looked at when an expression uses them: kinds are large, and some contain themselves. */
function objectType(schema: ObjectSchema<unknown>): Type {
  let type = known.get(schema);
  if (!type) {
    let names: ReadonlyMap<string, string> | undefined;
    type = structType(schema.name, {
      field(escaped) {
        names ??= new Map(
          Object.keys(schema.fields).flatMap((name) => spellingsOf(name).map((spelled) => [spelled, name])),
        );
        const dataName = names.get(escaped);
        const field = dataName === undefined ? undefined : schema.fields[dataName];
        return field && dataName !== undefined ? { type: kindType(field.schema), dataName } : undefined;
      },
    });
    known.set(schema, type);
  }
  return type;
}
