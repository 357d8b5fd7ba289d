import { type Steps } from "#lib/async/turns.ts";
import { Writer, wire } from "#lib/proto/protobuf-wire.ts";
import { infoOf, securityScheme } from "./openapi.ts";
import { type Json } from "./openapi-definitions.ts";
import { type PartsFormat } from "./openapi-parts.ts";

/** The media type that kubectl requests, which is malformed, and the one of the response. */
export const openApiV2ProtobufTypes = {
  asked: "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
  answered: "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
} as const;

/**
 * The v2 document in the protobuf form that kubectl requests: the messages of gnostic's openapi.v2. Every path and
 * definition is a step, and a part of the document of its own: whoever reads protobuf joins parts of a message.
 */
export function* openApiV2Protobuf(document: Json): Steps<Uint8Array> {
  const parts: Uint8Array[] = [];
  for (const part of partsOf(document)) {
    parts.push(writePart(part));
    yield;
  }
  return Buffer.concat(parts);
}

function writePart(part: Json): Uint8Array {
  const writer = new Writer();
  writeMessage(writer, messages.Document, part);
  return writer.finish();
}

/** The same from parts that are kept. */
export const protobufPartsV2: PartsFormat = {
  flavor: "v2",
  member: (list, name, value) => writePart({ [list]: { [name]: value } }),
  document({ paths, definitions, parameters }, options) {
    const head = [{ swagger: "2.0" }, { info: infoOf(options) }];
    const tail = [{ securityDefinitions: { BearerToken: securityScheme } }, { security: [{ BearerToken: [] }] }];
    return Buffer.concat([...head.map(writePart), ...paths, ...definitions, ...parameters, ...tail.map(writePart)]);
  },
};

function* partsOf(document: Json): Iterable<Json> {
  for (const [field, value] of Object.entries(document)) {
    const [, type] = messages.Document.fields[field] ?? [];
    if (typeof type !== "object" || !("named" in type)) yield { [field]: value };
    else for (const [name, item] of Object.entries(value as Json)) yield { [field]: { [name]: item } };
  }
}

/** How one JSON field is written: its number and its type. */
type Slot = readonly [tag: number, type: SlotType];
type SlotType =
  | "string"
  | "strings"
  | "bool"
  | "double"
  | "int"
  /** A message that holds one value as text, or several. */
  | "any"
  | "anys"
  | { readonly message: MessageName }
  | { readonly messages: MessageName }
  /** A message whose field holds `{ name = 1, value = 2 }` for every key. */
  | { readonly named: MessageName; readonly slot: number };

type MessageName =
  | "Document"
  | "Info"
  | "PathItem"
  | "Operation"
  | "ParametersItem"
  | "JsonReference"
  | "Parameter"
  | "BodyParameter"
  | "NonBodyParameter"
  | "QueryParameter"
  | "PathParameter"
  | "ResponseValue"
  | "Response"
  | "SchemaItem"
  | "AdditionalProperties"
  | "Items"
  | "Schema"
  | "TypeItem"
  | "SecurityRequirement"
  | "NamedStrings"
  | "SecurityDefinition"
  | "ApiKey";
interface Message {
  readonly fields: Readonly<Record<string, Slot>>;
  /** The number for fields whose name starts with `x-`. */
  readonly extensions?: number;
  /** Chooses the message that fits the value among several. */
  choose?(value: Json): readonly [tag: number, message: MessageName];
}

const isIn = ({ in: place }: Json, wanted: string): boolean => place === wanted;

const parameterFields = (first: number): Record<string, Slot> => ({
  required: [1, "bool"],
  in: [2, "string"],
  description: [3, "string"],
  name: [4, "string"],
  type: [first, "string"],
  format: [first + 1, "string"],
});

const messages: Readonly<Record<MessageName, Message>> = {
  Document: {
    fields: {
      swagger: [1, "string"],
      info: [2, { message: "Info" }],
      paths: [8, { named: "PathItem", slot: 2 }],
      definitions: [9, { named: "Schema", slot: 1 }],
      parameters: [10, { named: "Parameter", slot: 1 }],
      security: [12, { messages: "SecurityRequirement" }],
      securityDefinitions: [13, { named: "SecurityDefinition", slot: 1 }],
    },
  },
  Info: { fields: { title: [1, "string"], version: [2, "string"], description: [3, "string"] } },
  PathItem: {
    fields: {
      get: [2, { message: "Operation" }],
      put: [3, { message: "Operation" }],
      post: [4, { message: "Operation" }],
      delete: [5, { message: "Operation" }],
      options: [6, { message: "Operation" }],
      head: [7, { message: "Operation" }],
      patch: [8, { message: "Operation" }],
      parameters: [9, { messages: "ParametersItem" }],
    },
    extensions: 10,
  },
  Operation: {
    fields: {
      tags: [1, "strings"],
      summary: [2, "string"],
      description: [3, "string"],
      operationId: [5, "string"],
      produces: [6, "strings"],
      consumes: [7, "strings"],
      parameters: [8, { messages: "ParametersItem" }],
      responses: [9, { named: "ResponseValue", slot: 1 }],
      schemes: [10, "strings"],
      deprecated: [11, "bool"],
    },
    extensions: 13,
  },
  ParametersItem: { fields: {}, choose: (value) => ("$ref" in value ? [2, "JsonReference"] : [1, "Parameter"]) },
  JsonReference: { fields: { $ref: [1, "string"], description: [2, "string"] } },
  Parameter: {
    fields: {},
    choose: (value) => (isIn(value, "body") ? [1, "BodyParameter"] : [2, "NonBodyParameter"]),
  },
  BodyParameter: {
    fields: {
      description: [1, "string"],
      name: [2, "string"],
      in: [3, "string"],
      required: [4, "bool"],
      schema: [5, { message: "Schema" }],
    },
    extensions: 6,
  },
  NonBodyParameter: {
    fields: {},
    choose: (value) => (isIn(value, "path") ? [4, "PathParameter"] : [3, "QueryParameter"]),
  },
  QueryParameter: { fields: { ...parameterFields(6), uniqueItems: [20, "bool"] }, extensions: 23 },
  PathParameter: { fields: { ...parameterFields(5), uniqueItems: [19, "bool"] }, extensions: 22 },
  ResponseValue: { fields: {}, choose: (value) => ("$ref" in value ? [2, "JsonReference"] : [1, "Response"]) },
  Response: { fields: { description: [1, "string"], schema: [2, { message: "SchemaItem" }] }, extensions: 5 },
  SchemaItem: { fields: {}, choose: () => [1, "Schema"] },
  AdditionalProperties: { fields: {}, choose: () => [1, "Schema"] },
  Items: { fields: {}, choose: () => [1, "Schema"] },
  Schema: {
    fields: {
      $ref: [1, "string"],
      format: [2, "string"],
      title: [3, "string"],
      description: [4, "string"],
      default: [5, "any"],
      multipleOf: [6, "double"],
      maximum: [7, "double"],
      exclusiveMaximum: [8, "bool"],
      minimum: [9, "double"],
      exclusiveMinimum: [10, "bool"],
      maxLength: [11, "int"],
      minLength: [12, "int"],
      pattern: [13, "string"],
      maxItems: [14, "int"],
      minItems: [15, "int"],
      uniqueItems: [16, "bool"],
      maxProperties: [17, "int"],
      minProperties: [18, "int"],
      required: [19, "strings"],
      enum: [20, "anys"],
      additionalProperties: [21, { message: "AdditionalProperties" }],
      type: [22, { message: "TypeItem" }],
      items: [23, { message: "Items" }],
      allOf: [24, { messages: "Schema" }],
      properties: [25, { named: "Schema", slot: 1 }],
    },
    extensions: 31,
  },
  TypeItem: { fields: { value: [1, "strings"] } },
  SecurityRequirement: { fields: { BearerToken: [1, { message: "NamedStrings" }] } },
  NamedStrings: { fields: { name: [1, "string"] } },
  SecurityDefinition: { fields: {}, choose: () => [2, "ApiKey"] },
  ApiKey: { fields: { type: [1, "string"], name: [2, "string"], in: [3, "string"], description: [4, "string"] } },
};

function writeMessage(writer: Writer, message: Message, value: Json): void {
  if (message.choose) {
    const [tag, name] = message.choose(value);
    within(writer, tag, () => writeMessage(writer, messages[name], value));
    return;
  }
  for (const [key, field] of Object.entries(value).reverse()) {
    const slot = message.fields[key];
    if (slot) writeSlot(writer, slot, field);
    else if (message.extensions && key.startsWith("x-")) {
      within(writer, message.extensions, () => {
        writeAny(writer, 2, field);
        writeString(writer, 1, key);
      });
    }
  }
}

function writeSlot(writer: Writer, [tag, type]: Slot, value: unknown): void {
  if (typeof type === "object") writeMessages(writer, tag, type, value);
  else if (type === "string") writeString(writer, tag, String(value));
  else if (type === "strings") for (const text of (value as string[]).toReversed()) writeString(writer, tag, text);
  else if (type === "any") writeAny(writer, tag, value);
  else if (type === "anys") for (const item of (value as unknown[]).toReversed()) writeAny(writer, tag, item);
  else if (type === "double") {
    writer.double(Number(value));
    writer.key(tag, wire.fixed64);
  } else {
    writer.int(Number(value));
    writer.key(tag, wire.varint);
  }
}

function writeMessages(writer: Writer, tag: number, type: Exclude<SlotType, string>, value: unknown): void {
  if ("messages" in type) {
    for (const item of (value as Json[]).toReversed()) {
      within(writer, tag, () => writeMessage(writer, messages[type.messages], item));
    }
  } else if ("message" in type) {
    // `additionalProperties: true` means the same as its absence.
    if (value === true || value === false) return;
    within(writer, tag, () => writeMessage(writer, messages[type.message], asMessage(type.message, value)));
  } else {
    within(writer, tag, () => {
      for (const [name, item] of Object.entries(value as Json).reverse()) {
        within(writer, type.slot, () => {
          within(writer, 2, () => writeMessage(writer, messages[type.named], item as Json));
          writeString(writer, 1, name);
        });
      }
    });
  }
}

/** Values that are plain in JSON and a message in protobuf. */
function asMessage(name: MessageName, value: unknown): Json {
  if (name === "TypeItem") return { value: Array.isArray(value) ? value : [value] };
  if (name === "NamedStrings") return { name: "BearerToken" };
  return value as Json;
}

function within(writer: Writer, tag: number, write: () => void): void {
  const before = writer.size;
  write();
  writer.lengthAndKey(before, tag);
}

function writeString(writer: Writer, tag: number, text: string): void {
  writer.string(text);
  writer.key(tag, wire.bytes);
}

/** The text may be JSON, because JSON is valid YAML. */
const writeAny = (writer: Writer, tag: number, value: unknown): void =>
  within(writer, tag, () => writeString(writer, 2, JSON.stringify(value)));
