import { type Field, resolve, type Schema } from "../schema.ts";

/** What OpenAPI v3 says about an absent field: the zero value where Go has no pointer, else what the kind states. */
export function defaultOf(field: Field): unknown {
  if (field.stated) return field.default;
  const type = resolve(field.schema).type;
  if (type === "object") return field.mode === "nullable" || field.go?.isPointer ? undefined : {};
  return field.mode === "required" ? zeroOf(field.schema) : undefined;
}

/** The zero value of a type that is no pointer in Go; undefined for those that have none of their own. */
export function zeroOf(schema: Schema): unknown {
  switch (resolve(schema).type) {
    case "string":
      return "";
    case "boolean":
      return false;
    case "int32":
    case "int64":
    case "double":
      return 0;
    case "object":
      return {};
    default:
      return undefined;
  }
}
