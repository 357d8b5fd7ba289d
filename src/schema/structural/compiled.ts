import { sortedJson } from "#lib/text/json.ts";
import { type JsonSchema } from "../json-schema.ts";
import { formatOf } from "./formats.ts";

/** What checks need to know about a schema, found out once. */
export interface Compiled {
  readonly types: readonly string[];
  readonly format: ((text: string) => boolean) | undefined;
  /** The range of a number with a format. */
  readonly range: { readonly type: string; holds(value: number): boolean } | undefined;
  /** The values of an enum. */
  readonly allowed: Allowed | undefined;
}

/** The values of an enum, to be found whatever their number. */
export interface Allowed {
  readonly list: readonly unknown[];
  /** Texts, numbers and the like. */
  readonly plain: ReadonlySet<unknown>;
  /** All others, as text. */
  readonly texts: ReadonlySet<string>;
  /** How long all of them are, as text. */
  readonly chars: number;
}

const compiled = new WeakMap<JsonSchema, Compiled>();

export function compiledOf(schema: JsonSchema): Compiled {
  let known = compiled.get(schema);
  if (!known) {
    known = { types: typesOf(schema), format: formatOf(schema), range: rangeOf(schema), allowed: allowedBy(schema) };
    compiled.set(schema, known);
  }
  return known;
}

function typesOf(schema: JsonSchema): readonly string[] {
  if (schema["x-kubernetes-int-or-string"]) return ["integer", "string"];
  return schema.type ? [schema.type] : [];
}

function allowedBy({ enum: list }: JsonSchema): Allowed | undefined {
  if (!list || list.length === 0) return undefined;
  const plain = list.filter((one) => typeof one !== "object" || one === null);
  const texts = list.filter((one) => typeof one === "object" && one !== null).map((one) => sortedJson(one));
  return { list, plain: new Set(plain), texts: new Set(texts), chars: JSON.stringify(list).length };
}

const maxFloat = 3.4028234663852886e38;

function rangeOf({ type, format }: JsonSchema): Compiled["range"] {
  if (type === "integer" && format === "int32") return { type, holds: (value) => (value | 0) === value };
  if (type === "integer" && format === "int64")
    return { type, holds: (value) => value >= -(2 ** 63) && value < 2 ** 63 };
  if (type === "number" && format === "float") return { type, holds: (value) => Math.abs(value) <= maxFloat };
  return undefined;
}
