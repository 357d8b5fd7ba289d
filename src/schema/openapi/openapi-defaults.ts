import { type Field, resolve, type Schema } from "../schema.ts";

/** What OpenAPI v3 says about an absent field: the zero value where Go has no pointer, else what the kind states. */
export function defaultOf(field: Field): unknown {
  if (field.stated) return field.stated.value;
  const isWritten = field.go?.zero === "written";
  if (resolve(field.schema).type !== "object")
    return field.mode === "required" || isWritten ? zeroOf(field.schema) : undefined;
  // An object that Go writes although it is absent is a pointer.
  return field.mode === "nullable" || field.go?.isPointer || isWritten ? undefined : {};
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
