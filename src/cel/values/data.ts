import { dynType, elementOf, type Type } from "../types/type.ts";
import { type Convert, DataList, DataMap, ObjectValue } from "./collections.ts";
import { decoded } from "./decoded.ts";
import { parseDuration } from "./duration.ts";
import { intFromNumber } from "./integer.ts";
import { parseTimestamp } from "./timestamp.ts";
import { CelError, Double, Uint, type Value } from "./value.ts";

const converters = new WeakMap<Type, Convert>();

/** How JSON data of a declared type becomes a value. Lists, maps and objects are wrapped, not copied. */
export function converterFor(type: Type): Convert {
  const known = converters.get(type);
  if (known) return known;
  const convert = createConverter(type);
  converters.set(type, convert);
  return convert;
}

/** A variable of an evaluation from JSON data. */
export const valueFor = (type: Type, data: unknown): Value => converterFor(type)(data);

function createConverter(type: Type): Convert {
  const custom = type.convert;
  // Loops over objects make one for each step.
  if (!custom && type.kind === "struct") return objectConverter(type);
  const convert = custom ? (data: unknown): Value => custom(data) as Value : converterByKind(type);
  // The usual elements of long lists, without a call more for each.
  const usual = custom ? undefined : usualKinds[type.kind];
  return (data) => {
    if (typeof data === usual) {
      if (typeof data !== "number") return data as Value;
      // Adding zero turns a negative zero into zero.
      if (Number.isSafeInteger(data)) return data + 0;
    }
    if (data === null || data === undefined) return null;
    return convert(data) ?? new CelError(`invalid data, expected ${type.name}`);
  };
}

function objectConverter(type: Type): Convert {
  return (data) => {
    if (data === null || data === undefined) return null;
    return isRecord(data) ? wrapped(new DataObject(type, data)) : new CelError(`invalid data, expected ${type.name}`);
  };
}

const usualKinds: Readonly<Partial<Record<Type["kind"], string>>> = {
  string: "string",
  bool: "boolean",
  int: "number",
};

function converterByKind(type: Type): (data: unknown) => Value | undefined {
  switch (type.kind) {
    case "string":
      return (data) => (typeof data === "string" ? data : undefined);
    case "bool":
      return (data) => (typeof data === "boolean" ? data : undefined);
    case "int":
      return (data) => (typeof data === "number" && Number.isInteger(data) ? intFromNumber(data) : undefined);
    case "uint":
      return (data) =>
        typeof data === "number" && Number.isSafeInteger(data) && data >= 0 ? new Uint(data) : undefined;
    case "double":
      return (data) => (typeof data === "number" ? new Double(data) : undefined);
    case "bytes":
      return (data) => (typeof data === "string" ? decode(data) : undefined);
    case "timestamp":
      return (data) => (typeof data === "string" ? parsed(data, parseTimestamp) : undefined);
    case "duration":
      return (data) => (typeof data === "string" ? parsed(data, parseDuration) : undefined);
    case "list": {
      const element = lazily(elementOf(type));
      return (data) => (Array.isArray(data) ? wrapped(new DataList(data, element)) : undefined);
    }
    case "map": {
      const value = lazily(elementOf(type, 1));
      return (data) => (isRecord(data) ? wrapped(new DataMap(data, value)) : undefined);
    }
    default:
      return anyValue;
  }
}

/** Reading a time takes as long as decoding so many characters. */
const timeWork = 900;

function parsed(text: string, parse: (text: string) => Value | undefined): Value | undefined {
  decoded.characters += timeWork;
  return parse(text);
}

/** The same to wrap a list, a map or an object. */
const wrapWork = 70;

function wrapped(value: Value): Value {
  decoded.characters += wrapWork;
  return value;
}

function decode(text: string): Uint8Array {
  decoded.characters += text.length;
  return Buffer.from(text, "base64");
}

/** A type may contain itself, so the converter of its parts is looked up when it is needed. */
function lazily(type: Type): Convert {
  let convert: Convert | undefined;
  return (data) => {
    convert ??= converterFor(type);
    return convert(data);
  };
}

const isRecord = (data: unknown): data is Record<string, unknown> =>
  typeof data === "object" && data !== null && !Array.isArray(data);

const dynamic = lazily(dynType);

/** Data without a declared type: whole numbers are ints. */
function anyValue(data: unknown): Value | undefined {
  if (typeof data === "number") return Number.isInteger(data) ? intFromNumber(data) : new Double(data);
  if (typeof data === "string" || typeof data === "boolean") return data;
  if (Array.isArray(data)) return wrapped(new DataList(data, dynamic));
  return isRecord(data) ? wrapped(new DataMap(data, dynamic)) : undefined;
}

/** A JSON object with declared fields. */
export class DataObject extends ObjectValue {
  readonly type: Type;
  readonly #data: Readonly<Record<string, unknown>>;

  constructor(type: Type, data: Readonly<Record<string, unknown>>) {
    super();
    this.type = type;
    this.#data = data;
  }

  get size(): number {
    return Object.keys(this.#data).length;
  }

  /** What it was made of, in which fields that no expression can use are too. */
  get data(): unknown {
    return this.#data;
  }

  /** A field whose place and type are known already. */
  read(dataName: string, convert: Convert): Value | undefined {
    return Object.hasOwn(this.#data, dataName) ? convert(this.#data[dataName]) : undefined;
  }

  /** Whether it has a field whose place is known already. */
  holds(dataName: string): boolean {
    return Object.hasOwn(this.#data, dataName);
  }

  get(name: string): Value | undefined {
    const field = this.type.struct?.field(name);
    const key = field?.dataName ?? name;
    if (!field || !Object.hasOwn(this.#data, key)) return undefined;
    return converterFor(field.type)(this.#data[key]);
  }

  has(name: string): boolean {
    const field = this.type.struct?.field(name);
    return field !== undefined && Object.hasOwn(this.#data, field.dataName ?? name);
  }

  equals(other: ObjectValue, equal: (a: Value, b: Value) => boolean): boolean {
    if (!(other instanceof DataObject) || other.type.name !== this.type.name) return false;
    const keys = Object.keys(this.#data);
    if (keys.length !== other.size) return false;
    return keys.every(
      (key) => Object.hasOwn(other.#data, key) && equal(anyData(this.#data[key]), anyData(other.#data[key])),
    );
  }
}

const anyData = (data: unknown): Value => dynamic(data);
