import { Reader, TooManyFieldsError, WireError, wire } from "#lib/proto/protobuf-wire.ts";
import { maxKeyChars } from "#lib/text/long-text.ts";
import { DecodeError, maxRecursion, maxValues, TooManyValues } from "#schema/json/decode-error.ts";
import { parseJson } from "#schema/json/json.ts";
import { formatDuration } from "../duration.ts";
import { isInstant, microTimeText, timeText } from "../instant.ts";
import { type ScalarSchema } from "../scalars.ts";
import { type Either, type ObjectSchema, resolve, type Schema } from "../schema.ts";

/** The JSON-like value of a message, as input for `decode()`. Unknown fields are skipped. Throws DecodeError. */
export function decodeProtobuf(schema: Schema, bytes: Uint8Array): unknown {
  const at = resolve(schema);
  const out = {};
  readingSafely(() => {
    if (at.type !== "object") throw new DecodeError(`proto: ${at.type} is not a message`);
    readFields(new Reader(bytes, maxValues), fieldsOf(at), out, 0);
  });
  return out;
}

/** Reads bytes from a client, and turns errors in them into a DecodeError. */
export function readingSafely<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof TooManyFieldsError) throw new TooManyValues();
    if (error instanceof WireError) throw new DecodeError(error.message, { cause: error });
    throw error;
  }
}

type Raw = Record<string, unknown>;
/** Reads one occurrence of a field; `before` is the result of earlier ones. */
type Read = (reader: Reader, wireType: number, before: unknown, depth: number) => unknown;
interface FieldReader {
  readonly name: string;
  readonly read: Read;
}
/** By field number; a nested map is a message whose fields are flat in JSON. */
type FieldReaders = Map<number, FieldReader | FieldReaders>;

const compiled = new WeakMap<object, FieldReaders>();

function fieldsOf(schema: ObjectSchema<unknown>): FieldReaders {
  let fields = compiled.get(schema);
  if (!fields) {
    fields = compile(schema);
    compiled.set(schema, fields);
  }
  return fields;
}

function compile(schema: ObjectSchema<unknown>): FieldReaders {
  const fields: FieldReaders = new Map();
  for (const [name, field] of Object.entries(schema.fields)) {
    if (field.tag === 0) continue;
    const within = (field.inlineTags ?? []).reduce(inlinedFields, fields);
    within.set(field.tag, { name, read: readerOf(field.schema) });
  }
  return fields;
}

function inlinedFields(fields: FieldReaders, tag: number): FieldReaders {
  const known = fields.get(tag);
  if (known instanceof Map) return known;
  const inner: FieldReaders = new Map();
  fields.set(tag, inner);
  return inner;
}

function readFields(reader: Reader, fields: FieldReaders, out: Raw, depth: number): void {
  if (depth > maxRecursion) throw new DecodeError("exceeded max depth");
  while (!reader.done) {
    const key = reader.key();
    const wireType = key & 7;
    const field = fields.get(key >>> 3);
    if (!field) reader.skip(wireType);
    else if (field instanceof Map) {
      expect(wireType, wire.bytes);
      const outer = reader.enter();
      readFields(reader, field, out, depth + 1);
      reader.leave(outer);
    } else out[field.name] = field.read(reader, wireType, out[field.name], depth);
  }
}

function readerOf(schema: Schema): Read {
  switch (schema.type) {
    case "object":
      return readObject(schema);
    case "lazy":
      return readLazy(schema.get);
    case "list":
      return readList(schema.item);
    case "map":
      return readMap(schema.value);
    case "structural":
      return readAny;
    case "any":
      return schema.options.either ? readEither(schema.options.either) : readAny;
    default:
      return scalarReaders[schema.type];
  }
}

function readLazy(get: () => Schema): Read {
  let inner: Read | undefined;
  return (reader, wireType, before, depth) => {
    inner ??= readerOf(get());
    return inner(reader, wireType, before, depth);
  };
}

function readObject(schema: ObjectSchema<unknown>): Read {
  return (reader, wireType, before, depth) => {
    expect(wireType, wire.bytes);
    const out = (before as Raw | undefined) ?? {};
    const outer = reader.enter();
    readFields(reader, fieldsOf(schema), out, depth + 1);
    reader.leave(outer);
    return out;
  };
}

function readList(schema: Schema): Read {
  const item = nested(schema);
  const { type } = resolve(schema);
  const isPackable = type === "int32" || type === "int64" || type === "boolean" || type === "double";
  const itemWire = type === "double" ? wire.fixed64 : wire.varint;
  return (reader, wireType, before, depth) => {
    const out = (before as unknown[] | undefined) ?? [];
    if (!isPackable || wireType !== wire.bytes) {
      out.push(item(reader, wireType, undefined, depth));
      return out;
    }
    const outer = reader.enter();
    while (!reader.done) {
      reader.count();
      out.push(item(reader, itemWire, undefined, depth));
    }
    reader.leave(outer);
    return out;
  };
}

/** A list that is itself an item or a map's value is a message with the items in field 1. */
function nested(schema: Schema): Read {
  const at = resolve(schema);
  if (at.type !== "list") return readerOf(schema);
  const read = readList(at.item);
  return (reader, wireType, before, depth) =>
    readMessage(reader, wireType, depth, { value: (before as unknown[] | undefined) ?? [] }, (out, tag, inner) => {
      if (tag !== 1) return false;
      out.value = read(reader, inner, out.value, depth + 1) as unknown[];
      return true;
    }).value;
}

function readMap(schema: Schema): Read {
  const read = nested(schema);
  return (reader, wireType, before, depth) => {
    const out = (before as Raw | undefined) ?? {};
    const entry: { key: string; value: unknown } = { key: "", value: undefined };
    readMessage(reader, wireType, depth, entry, (_entry, tag, inner) => {
      if (tag === 1 && inner === wire.bytes) entry.key = reader.string();
      else if (tag === 2) entry.value = read(reader, inner, entry.value, depth + 1);
      else return false;
      return true;
    });
    if (entry.key.length > maxKeyChars) throw new DecodeError(`a key is longer than ${maxKeyChars} characters`);
    // An entry may omit a zero value; in JSON that is null.
    const value = entry.value ?? null;
    Object.defineProperty(out, entry.key, { value, writable: true, enumerable: true, configurable: true });
    return out;
  };
}

/** Reads a small message manually: `take` returns whether it has read the field. */
function readMessage<T>(
  reader: Reader,
  wireType: number,
  depth: number,
  out: T,
  take: (out: T, tag: number, wireType: number) => boolean,
): T {
  expect(wireType, wire.bytes);
  if (depth > maxRecursion) throw new DecodeError("exceeded max depth");
  const outer = reader.enter();
  while (!reader.done) {
    const key = reader.key();
    if (!take(out, key >>> 3, key & 7)) reader.skip(key & 7);
  }
  reader.leave(outer);
  return out;
}

const readAny: Read = (reader, wireType, _before, depth) =>
  readMessage<{ value: unknown }>(reader, wireType, depth, { value: undefined }, (out, tag, inner) => {
    if (tag !== 1 || inner !== wire.bytes) return false;
    const bytes = reader.bytes();
    if (bytes.length > 0) out.value = parseJson(bytes).value;
    return true;
  }).value;

function readEither({ object, objectTag, other, otherTag }: Either): Read {
  const empty = resolve(other).type === "boolean" ? false : [];
  return (reader, wireType, _before, depth) => {
    const found: { object: unknown; other: unknown } = { object: undefined, other: undefined };
    readMessage(reader, wireType, depth, found, (out, tag, inner) => {
      if (tag === objectTag) out.object = readerOf(object)(reader, inner, out.object, depth + 1);
      else if (tag === otherTag) out.other = readerOf(other)(reader, inner, out.other, depth + 1);
      else return false;
      return true;
    });
    return found.object ?? found.other ?? empty;
  };
}

function expect(wireType: number, wanted: number): void {
  if (wireType !== wanted) throw new DecodeError(`proto: wrong wireType = ${wireType} for field`);
}

const plain =
  (wanted: number, read: (reader: Reader) => unknown): Read =>
  (reader, wireType) => {
    expect(wireType, wanted);
    return read(reader);
  };

/** The varints and strings of a small message, by field number. */
function smallMessage(
  make: (field: (tag: number) => number, text: (tag: number) => string) => unknown,
  empty?: unknown,
): Read {
  return (reader, wireType, _before, depth) => {
    const fields = new Map<number, number | string>();
    readMessage(reader, wireType, depth, fields, (out, tag, inner) => {
      if (inner === wire.varint) out.set(tag, reader.int());
      else if (inner === wire.bytes) out.set(tag, reader.string());
      else return false;
      return true;
    });
    if (fields.size === 0) return empty;
    return make(
      (tag) => Number(fields.get(tag) ?? 0),
      (tag) => String(fields.get(tag) ?? ""),
    );
  };
}

const scalarReaders: Readonly<Record<ScalarSchema["type"], Read>> = {
  string: plain(wire.bytes, (reader) => reader.string()),
  boolean: plain(wire.varint, (reader) => reader.bool()),
  int32: plain(wire.varint, (reader) => reader.int32()),
  int64: plain(wire.varint, (reader) => reader.int()),
  double: plain(wire.fixed64, (reader) => reader.double()),
  bytes: plain(wire.bytes, (reader) => reader.bytes().toString("base64")),
  time: smallMessage((field) => instant(field(1), (seconds) => timeText(seconds))),
  microTime: smallMessage((field) => instant(field(1), (seconds) => microTimeText(seconds, nanosIn(field(2))))),
  duration: (reader, wireType, _before, depth) =>
    readMessage(reader, wireType, depth, { value: "0s" }, (out, tag, inner) => {
      if (tag !== 1 || inner !== wire.varint) return false;
      out.value = formatDuration(reader.bigint());
      return true;
    }).value,
  quantity: smallMessage((_field, text) => text(1) || undefined),
  intOrString: smallMessage((field, text) => (field(1) === 1 ? text(3) : field(2)), 0),
};

function instant(seconds: number, text: (seconds: number) => string): string {
  if (!isInstant(seconds)) throw new DecodeError(`proto: time out of range: ${seconds}`);
  return text(seconds);
}

function nanosIn(nanos: number): number {
  if (nanos < 0 || nanos > 999_999_999) throw new DecodeError(`proto: nanos out of range: ${nanos}`);
  return nanos;
}
