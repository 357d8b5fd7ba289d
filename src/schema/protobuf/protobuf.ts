import { Buffer } from "node:buffer";
import { Writer, wire } from "#lib/proto/protobuf-wire.ts";
import { parseDuration } from "../duration.ts";
import { microsOf, secondsOf } from "../instant.ts";
import { type Either, type Field, type ObjectSchema, resolve, type Schema } from "../schema.ts";

/**
 * The protobuf message of a decoded object: absent fields are omitted, present ones are written even if they are zero.
 */
export function encodeProtobuf(schema: Schema, value: unknown): Uint8Array {
  try {
    encoderOf(schema).content(writer, value);
    return writer.finish();
  } finally {
    writer.clear();
  }
}

/** One writer is enough, because encoding is synchronous. */
const writer = new Writer();

/** How the values of a schema are written. */
interface Encoder {
  /** Writes the complete field `tag`. */
  field(writer: Writer, value: unknown, tag: number): void;
  /** Writes the content of the field, without key and length. */
  content(writer: Writer, value: unknown): void;
}

const encoders = new WeakMap<object, Encoder>();

function encoderOf(schema: Schema): Encoder {
  let encoder = encoders.get(schema);
  if (!encoder) {
    encoder = compile(schema);
    encoders.set(schema, encoder);
  }
  return encoder;
}

function compile(schema: Schema): Encoder {
  switch (schema.type) {
    case "object":
      return message(objectContent(schema));
    case "lazy":
      return lazyEncoder(schema.get);
    case "list":
      return listEncoder(schema.item);
    case "map":
      return mapEncoder(schema.value);
    case "structural":
      return message(writeRaw);
    case "any":
      return message(schema.options.either ? eitherContent(schema.options.either) : writeRaw);
    default:
      return scalarEncoders[schema.type];
  }
}

const writeRaw: Encoder["content"] = (writer, value) => {
  writer.bytes(Buffer.from(JSON.stringify(value)));
  writer.key(1, wire.bytes);
};

function eitherContent({ object, objectTag, other, otherTag }: Either): Encoder["content"] {
  const hasFlag = resolve(other).type === "boolean";
  return (writer, value) => {
    const isObject = typeof value === "object" && !Array.isArray(value);
    if (isObject) encoderOf(object).field(writer, value, objectTag);
    if (!isObject || hasFlag) encoderOf(other).field(writer, isObject ? true : value, otherTag);
  };
}

const message = (content: Encoder["content"]): Encoder => ({
  content,
  field(writer, value, tag) {
    const before = writer.size;
    content(writer, value);
    writer.lengthAndKey(before, tag);
  },
});

const scalar = (wireType: number, content: Encoder["content"]): Encoder => ({
  content,
  field(writer, value, tag) {
    content(writer, value);
    writer.key(tag, wireType);
  },
});

const integer = scalar(wire.varint, (writer, value) => writer.int(value as number));

const scalarEncoders = {
  string: scalar(wire.bytes, (writer, value) => writer.string(value as string)),
  boolean: scalar(wire.varint, (writer, value) => writer.bool(value as boolean)),
  int32: integer,
  int64: integer,
  double: scalar(wire.fixed64, (writer, value) => writer.double(value as number)),
  bytes: scalar(wire.bytes, (writer, value) => writer.bytes(Buffer.from(value as string, "base64"))),
  time: message((writer, value) => {
    writer.int(0);
    writer.key(2, wire.varint);
    writer.int(secondsOf(value as string));
    writer.key(1, wire.varint);
  }),
  microTime: message((writer, value) => {
    writer.int(microsOf(value as string) * 1000);
    writer.key(2, wire.varint);
    writer.int(secondsOf(value as string));
    writer.key(1, wire.varint);
  }),
  duration: message((writer, value) => {
    writer.bigint(parseDuration(value as string));
    writer.key(1, wire.varint);
  }),
  quantity: message((writer, value) => {
    writer.string(value as string);
    writer.key(1, wire.bytes);
  }),
  intOrString: message((writer, value) => {
    const isText = typeof value === "string";
    writer.string(isText ? value : "");
    writer.key(3, wire.bytes);
    writer.int(isText ? 0 : (value as number));
    writer.key(2, wire.varint);
    writer.int(isText ? 1 : 0);
    writer.key(1, wire.varint);
  }),
};

function lazyEncoder(get: () => Schema): Encoder {
  let inner: Encoder | undefined;
  return {
    field(writer, value, tag) {
      inner ??= encoderOf(get());
      inner.field(writer, value, tag);
    },
    content(writer, value) {
      inner ??= encoderOf(get());
      inner.content(writer, value);
    },
  };
}

/** A list that is itself an item or a map's value is a message with the items in field 1. */
function listEncoder(schema: Schema): Encoder {
  const item = nestedEncoder(schema);
  const field: Encoder["field"] = (writer, value, tag) => {
    const items = value as unknown[];
    for (let index = items.length - 1; index >= 0; index--) item.field(writer, items[index], tag);
  };
  return { field, content: (writer, value) => field(writer, value, 1) };
}

function nestedEncoder(schema: Schema): Encoder {
  const encoder = encoderOf(schema);
  return resolve(schema).type === "list" ? message(encoder.content) : encoder;
}

function mapEncoder(schema: Schema): Encoder {
  const encoder = nestedEncoder(schema);
  const field: Encoder["field"] = (writer, value, tag) => {
    const entries = value as Record<string, unknown>;
    for (const key of Object.keys(entries).sort().reverse()) {
      const before = writer.size;
      encoder.field(writer, entries[key], 2);
      writer.string(key);
      writer.key(1, wire.bytes);
      writer.lengthAndKey(before, tag);
    }
  };
  return { field, content: (writer, value) => field(writer, value, 1) };
}

/** One field of a message, or a message whose fields are flat in JSON. */
interface Part {
  readonly tag: number;
  write(writer: Writer, value: Record<string, unknown>): void;
}

function objectContent(schema: ObjectSchema<unknown>): Encoder["content"] {
  let parts: readonly Part[] | undefined;
  return (writer, value) => {
    parts ??= partsOf(Object.entries(schema.fields), 0);
    for (const part of parts) part.write(writer, value as Record<string, unknown>);
  };
}

/** The last field first, because the writer works from the end. `depth` counts the messages that JSON does not have. */
function partsOf(fields: readonly (readonly [name: string, Field])[], depth: number): Part[] {
  const parts: Part[] = [];
  const inlined = new Map<number, (readonly [string, Field])[]>();
  for (const [name, field] of fields) {
    if (field.tag === 0) continue;
    const tag = field.inlineTags?.[depth];
    if (tag === undefined) parts.push(fieldPart(name, field));
    else inlined.set(tag, [...(inlined.get(tag) ?? []), [name, field]]);
  }
  for (const [tag, members] of inlined) parts.push(inlinedPart(tag, partsOf(members, depth + 1)));
  return parts.sort(lastFirst);
}

const lastFirst = (a: Part, b: Part): number => b.tag - a.tag;

function fieldPart(name: string, { tag, schema }: Field): Part {
  const encoder = encoderOf(schema);
  return {
    tag,
    write(writer, object) {
      const value = object[name];
      if (value !== undefined && value !== null) encoder.field(writer, value, tag);
    },
  };
}

function inlinedPart(tag: number, members: readonly Part[]): Part {
  return {
    tag,
    write(writer, object) {
      const before = writer.size;
      for (const member of members) member.write(writer, object);
      writer.lengthAndKey(before, tag);
    },
  };
}
