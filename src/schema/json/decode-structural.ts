import { isObject, setOwn } from "#lib/data/json-object.ts";
import { cloneJson } from "#lib/text/json.ts";
import { itemsOf, type JsonSchema, metaFields } from "../json-schema.ts";
import { jsonKind, Mismatch, maxMembers, maxValues, TooManyValues } from "./decode-error.ts";

/** What decoding counts, and whether it fills in defaults. */
export interface Walk {
  readonly defaults: boolean;
  /** Members of the outermost object that need not be decoded again. */
  settled?: Json | undefined;
  unknown: number;
  keys: number;
  /** Values that defaults have added. */
  filled?: number;
}
export type WalkDecoder<W extends Walk = Walk> = (raw: unknown, walk: W) => unknown;
type Json = Record<string, unknown>;

/** How the parts of a structural schema are decoded that are not structural themselves. */
export interface Meta<W extends Walk = Walk> {
  /** The metadata of a resource. */
  metadata(raw: unknown, walk: W): unknown;
  /** Counts the keys of arbitrary JSON, and limits its depth. */
  count(raw: unknown, walk: W): void;
}

/** Decodes a whole custom resource: its metadata as that of any resource, everything else by its own schema. */
export function decodeCustom<W extends Walk>(json: JsonSchema, meta: Meta<W>): WalkDecoder<W> {
  const members = new StructuralDecoder({ ...json, "x-kubernetes-embedded-resource": true }, meta);
  return (raw, walk) => {
    if (!isObject(raw)) throw new Mismatch(jsonKind(raw), "map[string]interface {}");
    const out = members.object(raw, walk);
    // Every object has metadata, whether it was sent or not.
    out.metadata ??= meta.metadata({}, walk);
    return out;
  };
}

/** Whether a value has fields that the schema does not know. */
export function hasUnknownFields(json: JsonSchema, value: unknown): boolean {
  const walk: Walk = { defaults: false, unknown: 0, keys: 0 };
  new StructuralDecoder(json, { metadata: (raw: unknown) => raw, count: () => undefined }).decode(value, walk);
  return walk.unknown > 0;
}

interface Member<W extends Walk> {
  readonly decoder: StructuralDecoder<W>;
  readonly nullable: boolean;
  readonly default: unknown;
}

/**
 * Decodes the values of one node of a structural schema: drops unknown fields, and nulls where there can be none, and
 * fills in defaults. Anything else stays as it is, also if it has the wrong type. Its parts are planned on first use.
 */
class StructuralDecoder<W extends Walk> {
  readonly #json: JsonSchema;
  readonly #meta: Meta<W>;
  readonly #members = new Map<string, Member<W>>();
  #rest: Member<W> | undefined;
  #items: Member<W> | undefined;
  #defaults: readonly (readonly [string, Member<W>])[] | undefined;

  constructor(json: JsonSchema, meta: Meta<W>) {
    this.#json = json;
    this.#meta = meta;
  }

  decode(raw: unknown, walk: W): unknown {
    if (typeof raw !== "object" || raw === null) return raw;
    if (Array.isArray(raw)) return this.#list(raw, walk);
    return this.object(raw as Json, walk);
  }

  object(raw: Json, walk: W): Json {
    const { settled } = walk;
    if (settled) walk.settled = undefined;
    const out: Json = {};
    let count = 0;
    for (const name in raw) {
      if (++count > maxMembers) throw new TooManyValues(`a map of more than ${maxMembers} entries`);
      walk.keys++;
      const value = raw[name];
      if (value === undefined) continue;
      if (settled?.[name] === value) out[name] = value;
      else this.#take(out, name, value, walk);
    }
    if (walk.defaults) this.#fill(out, walk);
    return out;
  }

  #take(out: Json, name: string, value: unknown, walk: W): void {
    if (this.#json["x-kubernetes-embedded-resource"] && metaFields.has(name)) {
      const decoded = this.#metaField(name, value, walk);
      if (decoded !== undefined) out[name] = decoded;
      return;
    }
    const member = this.#memberOf(name);
    if (member) {
      const decoded = memberValue(member, value, walk);
      if (decoded !== undefined) setOwn(out, name, decoded);
      return;
    }
    this.#meta.count(value, walk);
    if (this.#json["x-kubernetes-preserve-unknown-fields"]) setOwn(out, name, value);
    else if (this.#json.additionalProperties === true) setOwn(out, name, withoutMembers(value));
    else walk.unknown++;
  }

  /** A member that is not valid metadata stays as it is: validation refuses it, with its path. */
  #metaField(name: string, value: unknown, walk: W): unknown {
    if (name !== "metadata") return value;
    return value === null ? undefined : this.#meta.metadata(value, walk);
  }

  #memberOf(name: string): Member<W> | undefined {
    const { properties, additionalProperties } = this.#json;
    if (properties && Object.hasOwn(properties, name)) {
      let member = this.#members.get(name);
      if (!member) {
        member = this.#member(properties[name] ?? {});
        this.#members.set(name, member);
      }
      return member;
    }
    if (typeof additionalProperties !== "object") return undefined;
    this.#rest ??= this.#member(additionalProperties);
    return this.#rest;
  }

  #member(json: JsonSchema): Member<W> {
    const decoder = new StructuralDecoder(json, this.#meta);
    return { decoder, nullable: json.nullable === true, default: json.default ?? undefined };
  }

  #list(raw: readonly unknown[], walk: W): unknown {
    if (raw.length > maxMembers) throw new TooManyValues(`a list of more than ${maxMembers} items`);
    const items = itemsOf(this.#json);
    if (!items) {
      this.#meta.count(raw, walk);
      return this.#json["x-kubernetes-preserve-unknown-fields"] ? raw : raw.map(withoutMembers);
    }
    this.#items ??= this.#member(items);
    const member = this.#items;
    return raw.map((item) => memberValue(member, item, walk) ?? null);
  }

  #fill(out: Json, walk: W): void {
    this.#defaults ??= this.#planDefaults();
    for (const [name, member] of this.#defaults) {
      if (!Object.hasOwn(out, name)) setOwn(out, name, defaultOf(member, walk));
    }
  }

  #planDefaults(): (readonly [string, Member<W>])[] {
    const planned: (readonly [string, Member<W>])[] = [];
    for (const [name, json] of Object.entries(this.#json.properties ?? {})) {
      const member = (json.default ?? undefined) !== undefined && this.#memberOf(name);
      if (member) planned.push([name, member]);
    }
    return planned;
  }
}

/** Null means absent where it is not allowed: the default takes its place. */
function memberValue<W extends Walk>(member: Member<W>, value: unknown, walk: W): unknown {
  if (value !== null) return member.decoder.decode(value, walk);
  if (member.nullable) return null;
  return walk.defaults && member.default !== undefined ? defaultOf(member, walk) : undefined;
}

/** A copy of a default with the defaults of its parts. Their keys are not the client's, so they are not counted. */
function defaultOf<W extends Walk>({ decoder, default: value }: Member<W>, walk: W): unknown {
  walk.filled = (walk.filled ?? 0) + valuesIn(value);
  if (walk.filled > maxValues) throw new TooManyValues(`defaults with more than ${maxValues} values`);
  if (typeof value !== "object" || value === null) return value;
  const { keys, unknown } = walk;
  const copy = cloneJson(value);
  const decoded = decoder.decode(copy, walk);
  walk.keys = keys;
  walk.unknown = unknown;
  return decoded;
}

/** A long text counts as several values, so that all of them together fit into an object. */
const charsPerValue = 64;

function valuesIn(value: unknown): number {
  if (typeof value === "string") return 1 + Math.floor(value.length / charsPerValue);
  if (typeof value !== "object" || value === null) return 1;
  let count = 1;
  for (const inner of Object.values(value)) count += valuesIn(inner);
  return count;
}

/** What remains of a value whose members nobody has described. */
function withoutMembers(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutMembers);
  return isObject(value) ? {} : value;
}

/** Where the unknown fields of a value are. Metadata is visited by its own schema. */
export interface Finder {
  unknown(path: string): void;
  metadata(raw: unknown, path: string): void;
}

/** The slow walk: reports every member that decoding drops because it is unknown. */
export function findUnknown(json: JsonSchema, raw: unknown, path: string, finder: Finder): void {
  if (Array.isArray(raw)) {
    const items = itemsOf(json);
    if (items) for (const [index, item] of raw.entries()) findUnknown(items, item, `${path}[${index}]`, finder);
    return;
  }
  if (!isObject(raw)) return;
  const { properties = {}, additionalProperties } = json;
  for (const [name, value] of Object.entries(raw)) {
    const at = path ? `${path}.${name}` : name;
    const isMeta = json["x-kubernetes-embedded-resource"] && metaFields.has(name);
    if (isMeta) {
      if (name === "metadata") finder.metadata(value, at);
    } else if (Object.hasOwn(properties, name)) findUnknown(properties[name] ?? {}, value, at, finder);
    else if (typeof additionalProperties === "object") findUnknown(additionalProperties, value, at, finder);
    else if (!json["x-kubernetes-preserve-unknown-fields"] && additionalProperties !== true) finder.unknown(at);
  }
}
