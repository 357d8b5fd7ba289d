import { type Encoded } from "#api/exchange.ts";
import { type ManagedFieldsEntry } from "#api/meta/object-meta.ts";
import { type ApiObject, apiVersionOf, type Resource } from "#api/resource.ts";
import { deepFreeze } from "#lib/data/freeze.ts";
import { lastingBytes, lastingConcat } from "#lib/data/lasting-bytes.ts";
import { encodeProtobuf } from "#schema/protobuf/protobuf.ts";

/**
 * How one Resource's objects are encoded for the store and decoded. Every object starts with the same head, followed by
 * the revision, so the stored bytes are exactly the served bytes:
 *
 *   {"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"7","name":…
 */
export interface Codec {
  readonly resource: Resource;
  readonly head: string;
  /** Objects are frozen, so that a component which changes what it shares fails. That costs, so only tests ask for it. */
  readonly freezes: boolean;
}

export function codecOf(resource: Resource, { freezes = false }: { readonly freezes?: boolean } = {}): Codec {
  const codecs = freezes ? freezingCodecs : plainCodecs;
  let codec = codecs.get(resource);
  if (!codec) {
    const head = `{"kind":"${resource.kind}","apiVersion":"${apiVersionOf(resource)}","metadata":{`;
    codec = { resource, head, freezes };
    codecs.set(resource, codec);
  }
  return codec;
}
const plainCodecs = new WeakMap<Resource, Codec>();
const freezingCodecs = new WeakMap<Resource, Codec>();

/** Where the spec is in stored bytes. From their end, because revisions have different lengths. */
export interface SpecPlace {
  readonly fromEnd: number;
  readonly length: number;
}

/** The stored text after the revision. */
export interface StoredText {
  readonly text: string;
  /** In characters. */
  readonly spec: SpecPlace | undefined;
}

/** `object.metadata` must have a name and no resourceVersion. The text of the spec is used if it has been made before. */
export function toStoredText(
  object: ApiObject & { readonly spec?: unknown },
  specText = JSON.stringify(object.spec) as string | undefined,
): StoredText {
  const metadata = metadataText(object.metadata);
  if (specText === undefined) return { text: `${metadata}}${membersText(object, inHead)}}`, spec: undefined };
  const fromSpec = `${specText}${membersText(object, inHeadOrSpec)}}`;
  const spec = { fromEnd: fromSpec.length, length: specText.length };
  return { text: `${metadata}},"spec":${fromSpec}`, spec };
}

/**
 * Member by member, each after a comma: V8 leaves its fast path for a whole object if its hidden class was ever extended
 * in an unusual way.
 */
function membersText(object: object, skipped: ReadonlySet<string>): string {
  let text = "";
  for (const name of Object.keys(object)) {
    const value = (object as Readonly<Record<string, unknown>>)[name];
    if (value !== undefined && !skipped.has(name)) text += `,${nameText(name)}${JSON.stringify(value)}`;
  }
  return text;
}

/** The same for metadata without the braces, in which the managed fields are the longest part. */
function metadataText(metadata: ApiObject["metadata"]): string {
  const { managedFields } = metadata;
  let text = "";
  for (const name of Object.keys(metadata)) {
    const value = (metadata as Readonly<Record<string, unknown>>)[name];
    if (value === undefined) continue;
    const ofValue = value === managedFields ? managedFieldsText(managedFields) : JSON.stringify(value);
    text += `${text === "" ? "" : ","}${nameText(name)}${ofValue}`;
  }
  return text;
}

/** The name of a member and its colon. The few names that all objects have are quoted once. */
function nameText(name: string): string {
  const known = names.get(name);
  if (known !== undefined) return known;
  const text = `${JSON.stringify(name)}:`;
  if (name.length <= maxNameChars && names.size < maxNames) names.set(name, text);
  return text;
}
const names = new Map<string, string>();
const maxNames = 256;
const maxNameChars = 64;

/**
 * The managed fields as JSON. Objects that own the same fields share the set (set-path.ts), and every version
 * of an object has it again, so the texts of the last sets are kept.
 */
function managedFieldsText(entries: readonly ManagedFieldsEntry[]): string {
  let text = "";
  for (const entry of entries) text += `${text === "" ? "" : ","}${entryText(entry)}`;
  return `[${text}]`;
}

function entryText(entry: ManagedFieldsEntry): string {
  const { fieldsV1 } = entry;
  if (typeof fieldsV1 !== "object" || fieldsV1 === null) return JSON.stringify(entry);
  let text = "";
  for (const name of Object.keys(entry)) {
    const value = (entry as unknown as Readonly<Record<string, unknown>>)[name];
    if (value === undefined) continue;
    const ofValue = value === fieldsV1 ? setText(fieldsV1) : JSON.stringify(value);
    text += `${text === "" ? "" : ","}${nameText(name)}${ofValue}`;
  }
  return `{${text}}`;
}

function setText(set: object): string {
  const known = texts.get(set);
  if (known !== undefined) return known;
  const text = JSON.stringify(set);
  if (text.length > maxChars) return text;
  if (texts.size >= maxTexts) texts.clear();
  texts.set(set, text);
  return text;
}

/** At most 2 MiB of text. */
const texts = new Map<object, string>();
const maxTexts = 256;
const maxChars = 8192;

/**
 * The bytes that the store keeps and the server sends. Without a revision, as etcd stores them, they are completed when
 * they are read.
 */
export const toStoredBytes = (codec: Codec, object: ApiObject, revision: number): Uint8Array =>
  encodeText(codec, toStoredText(object), revision).bytes;

/** The same of a text. The place of the spec is only known if each character takes one byte. */
export function encodeText(
  { head }: Codec,
  { text, spec }: StoredText,
  revision: number,
): { readonly bytes: Uint8Array; readonly spec: SpecPlace | undefined } {
  const whole = `${head}${versionField(revision)}${text}`;
  const bytes = lastingBytes(whole);
  return { bytes, spec: bytes.length === whole.length ? spec : undefined };
}

const inHead: ReadonlySet<string> = new Set(["kind", "apiVersion", "metadata"]);
const inHeadOrSpec: ReadonlySet<string> = new Set([...inHead, "spec"]);
const versionField = (revision: number): string => (revision > 0 ? `"resourceVersion":"${revision}",` : "");

export type FrameType = "ADDED" | "MODIFIED" | "DELETED";

/** The source of a version: its own bytes, the bytes of the Resource that it is stored as, or only the object. */
interface Parts<T> {
  readonly stored?: Uint8Array | undefined;
  readonly storedAs?: Uint8Array | undefined;
  readonly object?: T | undefined;
}

/** One version of one object. Every form is created on first use, and once. */
export class EncodedObject<T extends ApiObject = ApiObject> implements Encoded<T> {
  readonly revision: number;
  readonly #codec: Codec;
  #stored: Uint8Array | undefined;
  readonly #storedAs: Uint8Array | undefined;
  #object: T | undefined;
  #json: Uint8Array | undefined;
  #protobuf: Uint8Array | undefined;
  #isPast = false;
  #spec: SpecPlace | undefined;

  /** Takes ownership of `object`: it gets its resourceVersion and is shared from now on. */
  constructor(codec: Codec, revision: number, { stored, storedAs, object }: Parts<T>) {
    this.#codec = codec;
    this.revision = revision;
    this.#stored = stored;
    this.#storedAs = storedAs;
    if (object) this.#object = this.#adopt(object);
  }

  get object(): T {
    if (this.#object) return this.#object;
    if (this.#isPast && lastParsed.of === this) return lastParsed.object as T;
    const object = this.#adopt(this.#parse());
    if (this.#isPast) Object.assign(lastParsed, { of: this, object });
    else this.#object = object;
    return object;
  }

  /** The object is parsed again on each use. */
  get isShed(): boolean {
    return this.#isPast;
  }

  noteSpec(place: SpecPlace | undefined): void {
    this.#spec = place;
  }

  /** The spec as JSON, if it need not be made: most versions of an object have the spec of the one before. */
  get specText(): string | undefined {
    const stored = this.#stored;
    if (!stored || !this.#spec) return undefined;
    const from = stored.length - this.#spec.fromEnd;
    return Buffer.from(stored.buffer, stored.byteOffset, stored.byteLength).toString(
      "latin1",
      from,
      from + this.#spec.length,
    );
  }

  get storedBytes(): number {
    return (this.#stored ?? this.#storedAs)?.length ?? 0;
  }

  json(): Uint8Array {
    const known = this.#stored ?? this.#json;
    if (known) return known;
    const json = lastingBytes(JSON.stringify(this.object));
    if (!this.#isPast) this.#json = json;
    return json;
  }

  /** The message without the envelope. */
  protobuf(): Uint8Array {
    if (this.#protobuf) return this.#protobuf;
    const bytes = encodeProtobuf(this.#codec.resource.schema, this.object);
    if (!this.#isPast) this.#protobuf = bytes;
    return bytes;
  }

  /** The same object at another revision, for a DELETED event. */
  at(revision: number): EncodedObject<T> {
    const stored = this.#stored && withRevision(this.#codec, this.#stored, { from: this.revision, to: revision });
    const object = this.#object && { ...this.#object, metadata: { ...this.#object.metadata } };
    const moved = new EncodedObject<T>(this.#codec, revision, { stored, storedAs: this.#storedAs, object });
    moved.#isPast = this.#isPast;
    return moved;
  }

  /** A newer version has replaced it: history needs only the bytes, and results are not cached. */
  shed(): void {
    if (!this.#stored && !this.#storedAs) return;
    this.#isPast = true;
    this.#object = undefined;
    this.#json = undefined;
    this.#protobuf = undefined;
  }

  #parse(): T {
    // We wrote these bytes ourselves, so they match the schema.
    const parsed = JSON.parse(textOf(this.#stored ?? this.#storedAs ?? empty)) as T;
    if (this.#stored) return parsed;
    const { resource } = this.#codec;
    if (resource.storedAs) return resource.storedAs.fromStored(parsed) as T;
    const present = (resource.reread?.(parsed) ?? parsed) as T;
    // Nothing has changed since it was written, so the stored bytes are the served ones.
    const bytes = this.#storedAs;
    if (present === parsed && bytes && startsWith(bytes, this.#codec.head)) {
      this.#stored = atRevision(this.#codec, bytes, this.revision);
    }
    return present;
  }

  #adopt(object: T): T {
    const version = String(this.revision);
    // The result of a dry run has none, because it was not written. An object adopted before, and frozen, has it already.
    if (this.revision > 0 && object.metadata.resourceVersion !== version) object.metadata.resourceVersion = version;
    return this.#codec.freezes ? deepFreeze(object) : object;
  }
}

/** Readers of past versions use the object of one version several times, and then that of the next. */
const lastParsed: { of?: EncodedObject; object?: ApiObject } = {};

/** A stored entry as an object of this Resource: with the same bytes, unless it is stored in another version. */
export function decodeStored<T extends ApiObject>(
  codec: Codec,
  value: Uint8Array,
  revision: number,
  written?: T,
): EncodedObject<T> {
  const { resource } = codec;
  if (resource.storedAs) return new EncodedObject<T>(codec, revision, { storedAs: value });
  const stored = atRevision(codec, value, revision);
  if (resource.reread && !written) return new EncodedObject<T>(codec, revision, { storedAs: stored });
  return new EncodedObject<T>(codec, revision, { stored, object: written });
}

/** The bytes with their revision: etcd keeps them without, and those that were moved from another store have its. */
export function atRevision({ head }: Codec, value: Uint8Array, revision: number): Uint8Array {
  const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  const wanted = head + versionField(revision);
  const start = bytes.toString("latin1", 0, wanted.length);
  // What does not start as an object does cannot be read anyway.
  if (start === wanted || !start.startsWith(head)) return value;
  const [found = ""] = storedVersion.exec(bytes.toString("latin1", head.length, head.length + 40)) ?? [];
  return lastingConcat([Buffer.from(wanted), bytes.subarray(head.length + found.length)]);
}

/** The bytes as etcd keeps them. Bytes that do not start as an object does stay as they are. */
export function withoutRevision(value: Uint8Array): Uint8Array {
  const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  const head = /^{"kind":"[^"]*","apiVersion":"[^"]*","metadata":{/.exec(bytes.toString("latin1", 0, 500))?.[0].length;
  if (head === undefined) return value;
  const [found] = storedVersion.exec(bytes.toString("latin1", head, head + 40)) ?? [];
  return found ? lastingConcat([bytes.subarray(0, head), bytes.subarray(head + found.length)]) : value;
}

const storedVersion = /^"resourceVersion":"\d{1,16}",/;

function withRevision({ head }: Codec, stored: Uint8Array, { from, to }: { from: number; to: number }): Uint8Array {
  const rest = stored.subarray(head.length + versionField(from).length);
  return lastingConcat([Buffer.from(head + versionField(to)), rest]);
}

/** Whether the bytes start with this text, which has only ASCII characters. */
export const startsWith = (bytes: Uint8Array, head: string): boolean =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1", 0, head.length) === head;

const empty = new Uint8Array();
export const textOf = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
