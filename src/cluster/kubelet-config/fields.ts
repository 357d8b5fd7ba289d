import { defaulted, nullable, optional } from "#schema/fields.ts";
import { type Schema } from "#schema/schema.ts";
import { boolean, duration, int32, map, string } from "#schema/types.ts";

/** Declares the fields of a file. They have no protobuf form, so their numbers only have to differ. */
export function fieldMaker() {
  let tag = 0;
  const next = () => {
    tag += 1;
    return tag;
  };
  return {
    text: (value: string, doc: string) => defaulted(next(), string(), value, doc),
    whole: (value: number, doc: string) => defaulted(next(), int32(), value, doc),
    flag: (value: boolean, doc: string) => defaulted(next(), boolean(), value, doc),
    time: (value: string, doc: string) => defaulted(next(), duration(), value, doc),
    texts: (doc: string) => optional(next(), map(string()), doc),
    maybe: <T>(schema: Schema<T>, doc: string) => optional(next(), schema, doc),
    maybeNull: <T>(schema: Schema<T>, doc: string) => nullable(next(), schema, doc),
    part: <T>(schema: Schema<T>, value: T, doc: string) => defaulted(next(), schema, value, doc),
  };
}
