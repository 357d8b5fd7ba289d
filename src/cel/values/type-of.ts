import {
  boolType,
  bytesType,
  doubleType,
  durationType,
  dynType,
  errorType,
  intType,
  listType,
  mapType,
  nullType,
  optionalType,
  stringType,
  type Type,
  timestampType,
  typeType,
  uintType,
} from "../types/type.ts";
import { ListValue, MapValue, ObjectValue } from "./collections.ts";
import {
  CelError,
  Double,
  Duration,
  OpaqueValue,
  OptionalValue,
  Timestamp,
  TypeValue,
  Uint,
  type Value,
} from "./value.ts";

const anyList = listType(dynType);
const anyMap = mapType(dynType, dynType);
const anyOptional = optionalType(dynType);
const anyType = typeType();

/** The type of a value while an expression runs: without what is in a list or map. */
export function typeOf(value: Value): Type {
  switch (typeof value) {
    case "boolean":
      return boolType;
    case "string":
      return stringType;
    case "number":
    case "bigint":
      return intType;
  }
  if (value === null) return nullType;
  if (value instanceof ListValue) return anyList;
  if (value instanceof MapValue) return anyMap;
  if (value instanceof ObjectValue || value instanceof OpaqueValue) return value.type;
  if (value instanceof Double) return doubleType;
  if (value instanceof Uint) return uintType;
  if (value instanceof Uint8Array) return bytesType;
  return rareTypeOf(value);
}

function rareTypeOf(value: Timestamp | Duration | TypeValue | OptionalValue | CelError): Type {
  if (value instanceof Timestamp) return timestampType;
  if (value instanceof Duration) return durationType;
  if (value instanceof TypeValue) return anyType;
  return value instanceof OptionalValue ? anyOptional : errorType;
}

/** Whether a value can be passed where a type is declared. What is inside lists and maps is not looked at. */
export function isOfType(value: Value, type: Type): boolean {
  if (type.kind === "dyn" || type.kind === "parameter") return true;
  const actual = typeOf(value);
  if (actual.kind !== type.kind) return false;
  return actual.kind !== "struct" && actual.kind !== "opaque" ? true : actual.name === type.name;
}
