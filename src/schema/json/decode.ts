import { isObject, setOwn } from "#lib/data/json-object.ts";
import { readScalar, zeroScalars } from "../scalars.ts";
import { type Either, type Field, type ObjectSchema, resolve, type Schema } from "../schema.ts";
import { DecodeError, jsonKind, Mismatch, maxDepth, maxMembers, maxRecursion, TooManyValues } from "./decode-error.ts";
import { explainFault } from "./decode-faults.ts";
import { decodeCustom } from "./decode-structural.ts";

export interface DecodeOptions {
  /** Fill absent fields with their defaults. */
  readonly defaults: boolean;
  /**
   * An object that is already in canonical form: members that the raw value shares with it are taken over unchanged.
   */
  readonly settled?: object | undefined;
}
export interface Decoded<T> {
  readonly value: T;
  /** Dotted paths of unknown fields: `spec.containers[0].foo`. They are dropped. */
  readonly unknown: string[];
  /** The number of object keys in the raw value; a text with more of them has duplicates. */
  readonly keys: number;
}

/**
 * Decodes a JSON value according to the schema. The result is a new object in canonical form: without nulls, unknown
 * fields and zero values of `optional` fields, and with canonical times and quantities. Throws DecodeError.
 *
 * Every write pays for the first walk, which tracks no paths; if something is wrong, a second walk finds out where.
 */
export function decode<T>(schema: Schema<T>, raw: unknown, options: DecodeOptions): Decoded<T> {
  const settled = options.settled as Raw | undefined;
  const state: State = { defaults: options.defaults, settled, unknown: 0, keys: 0, depth: 0 };
  let value: unknown;
  try {
    value = decoderOf(schema)(raw, state);
  } catch (error) {
    const isTooLong = error instanceof TooManyValues;
    if (!isTooLong && (error instanceof Mismatch || error instanceof DecodeError)) explainFault(schema, raw);
    throw error;
  }
  const unknown = state.unknown > 0 ? explainFault(schema, raw) : [];
  return { value: value as T, unknown, keys: state.keys };
}

interface State {
  readonly defaults: boolean;
  /** Only for the outermost object. */
  settled: Raw | undefined;
  unknown: number;
  keys: number;
  depth: number;
  /** Values that the defaults of a custom resource have added. */
  filled?: number;
}
type Decoder = (raw: unknown, state: State) => unknown;
type Raw = Record<string, unknown>;

const decoders = new WeakMap<object, Decoder>();

function decoderOf(schema: Schema): Decoder {
  let decoder = decoders.get(schema);
  if (!decoder) {
    decoder = compile(schema);
    decoders.set(schema, decoder);
  }
  return decoder;
}

function compile(schema: Schema): Decoder {
  switch (schema.type) {
    case "object":
      return compileObject(schema);
    case "list":
      return compileList(schema.item);
    case "map":
      return compileMap(schema.value);
    case "any":
      return schema.options.either ? compileEither(schema.options.either) : decodeAny;
    case "lazy":
      return compileLazy(schema.get);
    case "structural":
      return decodeAny;
    default:
      return readScalar[schema.type];
  }
}

/** Only a lazy schema can be recursive, so the depth is checked only here. */
function compileLazy(get: () => Schema): Decoder {
  let inner: Decoder | undefined;
  return (raw, state) => {
    inner ??= decoderOf(get());
    if (++state.depth > maxRecursion) throw new DecodeError("exceeded max depth");
    const value = inner(raw, state);
    state.depth--;
    return value;
  };
}

function compileList(item: Schema): Decoder {
  let decodeItem: Decoder | undefined;
  return (raw, state) => {
    if (!Array.isArray(raw)) throw new Mismatch(jsonKind(raw), "[]");
    if (raw.length > maxMembers) throw new TooManyValues(`a list of more than ${maxMembers} items`);
    decodeItem ??= decoderOf(item);
    // A copy has exactly the room that it needs. A list that grows has room for 16 more, in objects that are kept.
    const out: unknown[] = raw.slice();
    for (let at = 0; at < out.length; at++) {
      const value = out[at];
      out[at] = isAbsent(value) ? zeroOf(item, state) : decodeItem(value, state);
    }
    return out;
  };
}

function compileMap(schema: Schema): Decoder {
  let decodeValue: Decoder | undefined;
  return (raw, state) => {
    if (!isObject(raw)) throw new Mismatch(jsonKind(raw), "map[string]");
    decodeValue ??= decoderOf(schema);
    const out: Raw = {};
    let entries = 0;
    for (const key in raw) {
      if (++entries > maxMembers) throw new TooManyValues(`a map of more than ${maxMembers} entries`);
      state.keys++;
      const value = raw[key];
      setOwn(out, key, isAbsent(value) ? zeroOf(schema, state) : decodeValue(value, state));
    }
    return out;
  };
}

function compileEither({ object, other }: Either): Decoder {
  return (raw, state) => decoderOf(isObject(raw) ? object : other)(raw, state);
}

/** Arbitrary JSON is kept unchanged; the walk only counts its keys and limits its depth. */
function decodeAny(raw: unknown, state: State): unknown {
  countKeys(raw, state, 0);
  return raw;
}

function countKeys(raw: unknown, state: State, depth: number): void {
  if (typeof raw !== "object" || raw === null) return;
  if (depth > maxDepth) throw new DecodeError("exceeded max depth");
  if (Array.isArray(raw)) {
    for (const item of raw) countKeys(item, state, depth + 1);
    return;
  }
  for (const key in raw) {
    state.keys++;
    countKeys((raw as Raw)[key], state, depth + 1);
  }
}

interface CompiledField {
  readonly name: string;
  readonly decode: Decoder;
  readonly drops: Drops;
  /** The replacement for an absent value; returns undefined if there is none. */
  readonly fill: ((state: State) => unknown) | undefined;
}
/** Which decoded values count as absent. */
type Drops = "nothing" | "zero" | "emptyList" | "emptyMap";

interface ObjectPlan {
  readonly fields: ReadonlyMap<string, CompiledField>;
  /** Fields that exist even if the client did not send them. */
  readonly filled: readonly CompiledField[];
}

function compileObject(schema: ObjectSchema<unknown>): Decoder {
  const { defaults, structural } = schema.options;
  if (structural) return decodeCustom(structural, { metadata: decoderOfMetadata(schema), count: countFromTop });
  let plan: ObjectPlan | undefined;
  return (raw, state) => {
    if (!isObject(raw)) throw new Mismatch(jsonKind(raw), schema.name);
    plan ??= planObject(schema);
    const { fields, filled } = plan;
    const { settled } = state;
    state.settled = undefined;
    const out: Raw = {};
    for (const key in raw) {
      state.keys++;
      const value = raw[key];
      if (settled !== undefined && value !== undefined && settled[key] === value) {
        out[key] = value;
        continue;
      }
      const field = fields.get(key);
      if (field === undefined) skipUnknown(value, state);
      else if (!isAbsent(value)) {
        const decoded = field.decode(value, state);
        if (field.drops === "nothing" || !isDropped(decoded, field.drops)) out[key] = decoded;
      }
    }
    for (const field of filled) fillAbsent(out, field, state);
    if (defaults !== undefined && state.defaults) defaults(out as never);
    return out;
  };
}

const countFromTop = (raw: unknown, state: State): void => countKeys(raw, state, 0);

function decoderOfMetadata({ fields }: ObjectSchema<unknown>): Decoder {
  const schema = fields.metadata?.schema;
  return schema ? decoderOf(schema) : decodeAny;
}

function skipUnknown(value: unknown, state: State): void {
  state.unknown++;
  countKeys(value, state, 0);
}

function fillAbsent(out: Raw, field: CompiledField, state: State): void {
  if (out[field.name] !== undefined) return;
  const value = field.fill?.(state);
  if (value !== undefined) out[field.name] = value;
}

function isDropped(value: unknown, drops: Drops): boolean {
  if (drops === "zero") return value === "" || value === 0 || value === false;
  if (drops === "emptyList") return (value as unknown[]).length === 0;
  for (const _key in value as Raw) return false;
  return true;
}

function planObject(schema: ObjectSchema<unknown>): ObjectPlan {
  const fields = new Map<string, CompiledField>();
  for (const [name, field] of Object.entries(schema.fields)) {
    const compiled = { name, decode: decoderOf(field.schema), drops: dropsOf(field), fill: fillOf(field) };
    fields.set(name, compiled);
  }
  return { fields, filled: [...fields.values()].filter((field) => field.fill !== undefined) };
}

function dropsOf(field: Field): Drops {
  if (field.mode === "required" || field.mode === "nullable") return "nothing";
  const schema = resolve(field.schema);
  if (schema.type === "list") return "emptyList";
  if (schema.type === "map") return "emptyMap";
  if (schema.type === "string") return field.go?.isPointer ? "nothing" : "zero";
  if (field.mode === "optional") return isPlainScalar(schema) ? "zero" : "nothing";
  // A defaulted number that cannot be 0 gets its default instead of 0, as non-pointers in Go do.
  return (schema.type === "int32" || schema.type === "int64") && (schema.options.min ?? 0) > 0 ? "zero" : "nothing";
}

const isPlainScalar = ({ type }: Schema): boolean =>
  type === "int32" || type === "int64" || type === "double" || type === "boolean" || type === "bytes";

function fillOf(field: Field): CompiledField["fill"] {
  if (field.mode === "required") return (state) => zeroOf(field.schema, state);
  if (field.mode !== "defaulted") return undefined;
  const value = field.default;
  if (typeof value !== "object" || value === null) return (state) => (state.defaults ? value : undefined);
  const decodeValue = decoderOf(field.schema);
  return (state) => (state.defaults ? decodeValue(value, { ...state }) : undefined);
}

/** Go's zero value, for an absent field. */
function zeroOf(schema: Schema, state: State): unknown {
  const { type } = schema;
  if (type === "list") return [];
  if (type === "map") return {};
  if (type === "any" || type === "structural") return undefined;
  if (type === "lazy") return zeroOf(schema.get(), state);
  // The keys and unknown fields of a generated value are not the client's.
  if (type === "object") return decoderOf(schema)({}, state);
  return zeroScalars[type];
}

const isAbsent = (value: unknown): value is null | undefined => value === null || value === undefined;
