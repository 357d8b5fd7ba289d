import { type EnvironmentOptions } from "#cel/declare/environment.ts";
import { type Library, overload } from "#cel/declare/function.ts";
import { dynType, stringType, structType, type Type } from "#cel/types/type.ts";
import { type Equal, ObjectValue } from "#cel/values/collections.ts";
import { type Value } from "#cel/values/value.ts";

/** An object that an expression wrote, such as `Object.spec{replicas: 1}`. */
export class WrittenObject extends ObjectValue {
  readonly type: Type;
  readonly fields: ReadonlyMap<string, Value>;

  constructor(type: Type, fields: ReadonlyMap<string, Value>) {
    super();
    this.type = type;
    this.fields = fields;
  }
  get size(): number {
    return this.fields.size;
  }
  get(name: string): Value | undefined {
    return this.fields.get(name);
  }
  has(name: string): boolean {
    return this.fields.has(name);
  }
  equals(other: ObjectValue, equal: Equal): boolean {
    if (!(other instanceof WrittenObject) || other.type.name !== this.type.name || other.size !== this.size)
      return false;
    for (const [name, value] of this.fields) {
      const theirs = other.fields.get(name);
      if (theirs === undefined || !equal(value, theirs)) return false;
    }
    return true;
  }
}

function writtenType(name: string, fieldType: (name: string) => Type | undefined): Type {
  const type: Type = structType(name, {
    field(field) {
      const found = fieldType(field);
      return found && { type: found };
    },
    create: (fields) => new WrittenObject(type, fields as ReadonlyMap<string, Value>),
  });
  return type;
}

/** A part of an object to be merged. */
export const objectType = writtenType("Object", () => dynType);

const operationFields: ReadonlyMap<string, Type> = new Map([
  ["op", stringType],
  ["path", stringType],
  ["from", stringType],
  ["value", dynType],
]);
/** One operation of a JSON patch. */
export const jsonPatchType = writtenType("JSONPatch", (name) => operationFields.get(name));

/**
 * As upstream, the parts of an object are types of their own by their path, such as `Object.spec.template`, and may have
 * any fields: whether they fit the kind shows when they are merged.
 */
function findType(name: string): Type | undefined {
  if (name === objectType.name) return objectType;
  if (name === jsonPatchType.name) return jsonPatchType;
  return name.startsWith("Object.") ? writtenType(name, () => dynType) : undefined;
}

const escapeLibrary: Library = {
  functions: [
    {
      name: "jsonpatch.escapeKey",
      overloads: [
        overload("string_jsonpatch_escapeKey_string", [stringType], stringType, (meter, key) => {
          meter.allocate(2 * (key as string).length);
          return (key as string).replaceAll("~", "~0").replaceAll("/", "~1");
        }),
      ],
    },
  ],
};

/** What expressions that change objects may use besides the usual. */
export const patchTypes: EnvironmentOptions = { findType, libraries: [escapeLibrary] };
