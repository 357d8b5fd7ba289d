import { type Encoded } from "#api/exchange.ts";
import { type ApiObject, apiVersionOf, type Resource } from "#api/resource.ts";
import { deepFreeze } from "#lib/data/freeze.ts";
import { lastingBytes, lastingConcat } from "#lib/data/lasting-bytes.ts";
import { encodeProtobuf } from "#schema/protobuf/protobuf.ts";

/**
 * How one Resource's objects become stored bytes and come back. Every object starts with the same head, and the
 * revision follows, so what is stored is what is served, to the byte:
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

/** What follows the revision in the stored bytes. `object.metadata` must have a name and no resourceVersion. */
export function toStoredText(object: ApiObject): string {
  let text = JSON.stringify(object.metadata).slice(1);
  // Member by member: V8 leaves its fast path for a whole object whose kind of shape was ever extended in an odd way.
  for (const [name, value] of Object.entries(object)) {
    if (value !== undefined && !inHead.has(name)) text += `,${JSON.stringify(name)}:${JSON.stringify(value)}`;
  }
  return `${text}}`;
}

/** The bytes that the store keeps and the server sends, of an object or of its `toStoredText`. */
export function toStoredBytes({ head }: Codec, object: ApiObject | string, revision: number): Uint8Array {
  const text = typeof object === "string" ? object : toStoredText(object);
  return lastingBytes(`${head}${versionField(revision)}${text}`);
}

const inHead: ReadonlySet<string> = new Set(["kind", "apiVersion", "metadata"]);
const versionField = (revision: number): string => `"resourceVersion":"${revision}",`;

export type FrameType = "ADDED" | "MODIFIED" | "DELETED";

/** What a version is made from: its own bytes, the bytes of the Resource that it is stored as, or the object alone. */
interface Parts<T> {
  readonly stored?: Uint8Array | undefined;
  readonly storedAs?: Uint8Array | undefined;
  readonly object?: T | undefined;
}

/** One version of one object. Everything is made when first asked for, and once. */
export class EncodedObject<T extends ApiObject = ApiObject> implements Encoded<T> {
  readonly revision: number;
  readonly #codec: Codec;
  readonly #stored: Uint8Array | undefined;
  readonly #storedAs: Uint8Array | undefined;
  #object: T | undefined;
  #json: Uint8Array | undefined;
  #protobuf: Uint8Array | undefined;
  #isPast = false;

  /** `object` is adopted: it gets its resourceVersion and is shared from now on. */
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

  /** The object has to be made of the bytes each time. */
  get isShed(): boolean {
    return this.#isPast;
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

  /** The message alone, without the envelope. */
  protobuf(): Uint8Array {
    if (this.#protobuf) return this.#protobuf;
    const bytes = encodeProtobuf(this.#codec.resource.schema, this.object);
    if (!this.#isPast) this.#protobuf = bytes;
    return bytes;
  }

  /** The same object as of another revision: what a DELETED event carries. */
  at(revision: number): EncodedObject<T> {
    const stored = this.#stored && withRevision(this.#codec, this.#stored, { from: this.revision, to: revision });
    const object = this.#object && { ...this.#object, metadata: { ...this.#object.metadata } };
    const moved = new EncodedObject<T>(this.#codec, revision, { stored, storedAs: this.#storedAs, object });
    moved.#isPast = this.#isPast;
    return moved;
  }

  /** A newer version took its place: history needs the bytes only, and what is made of them is not kept. */
  shed(): void {
    if (!this.#stored && !this.#storedAs) return;
    this.#isPast = true;
    this.#object = undefined;
    this.#json = undefined;
    this.#protobuf = undefined;
  }

  #parse(): T {
    // Bytes that we wrote ourselves: they hold what the schema allows.
    const parsed = JSON.parse(text(this.#stored ?? this.#storedAs ?? empty)) as T;
    if (this.#stored) return parsed;
    return (this.#codec.resource.storedAs?.fromStored(parsed) ?? parsed) as T;
  }

  #adopt(object: T): T {
    const version = String(this.revision);
    // What a dry run made has none: it was not written. One that was adopted before, and frozen, has it already.
    if (this.revision > 0 && object.metadata.resourceVersion !== version) object.metadata.resourceVersion = version;
    return this.#codec.freezes ? deepFreeze(object) : object;
  }
}

/** Whoever reads a version of the past asks for its object several times, and then for the next version's. */
const lastParsed: { of?: EncodedObject; object?: ApiObject } = {};

/** What the store has, as an object of this Resource: the bytes themselves, unless another version of it is stored. */
export function decodeStored<T extends ApiObject>(
  codec: Codec,
  value: Uint8Array,
  revision: number,
  written?: T,
): EncodedObject<T> {
  if (codec.resource.storedAs) return new EncodedObject<T>(codec, revision, { storedAs: value });
  return new EncodedObject<T>(codec, revision, { stored: value, object: written });
}

function withRevision({ head }: Codec, stored: Uint8Array, { from, to }: { from: number; to: number }): Uint8Array {
  const rest = stored.subarray(head.length + versionField(from).length);
  return lastingConcat([Buffer.from(head + versionField(to)), rest]);
}

const empty = new Uint8Array();
const text = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
