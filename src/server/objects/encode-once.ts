import { type Encoded } from "#api/exchange.ts";
import { type ApiObject, apiVersionOf, type Resource } from "#api/resource.ts";
import { deepFreeze } from "#lib/freeze.ts";
import { encodeProtobuf } from "#schema/protobuf.ts";

/**
 * How one Resource's objects become stored bytes and come back. Every object starts with the same head, and the
 * revision follows, so what is stored is what is served, to the byte:
 *
 *   {"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"7","name":…
 */
export interface Codec {
  readonly resource: Resource;
  readonly head: string;
}

export function codecOf(resource: Resource): Codec {
  let codec = codecs.get(resource);
  if (!codec) {
    const head = `{"kind":"${resource.kind}","apiVersion":"${apiVersionOf(resource)}","metadata":{`;
    codec = { resource, head };
    codecs.set(resource, codec);
  }
  return codec;
}
const codecs = new WeakMap<Resource, Codec>();

/** The bytes that the store keeps and the server sends. `object.metadata` must have a name and no resourceVersion. */
export function toStoredBytes(codec: Codec, object: ApiObject, revision: number): Uint8Array {
  let text = `${codec.head}${versionField(revision)}${JSON.stringify(object.metadata).slice(1)}`;
  // Member by member: V8 leaves its fast path for a whole object whose kind of shape was ever extended in an odd way.
  for (const [name, value] of Object.entries(object)) {
    if (value !== undefined && !inHead.has(name)) text += `,${JSON.stringify(name)}:${JSON.stringify(value)}`;
  }
  return Buffer.from(`${text}}`);
}

const inHead: ReadonlySet<string> = new Set(["kind", "apiVersion", "metadata"]);
const versionField = (revision: number): string => `"resourceVersion":"${revision}",`;

/** Frozen objects catch a component that changes what it shares; freezing costs, so only tests turn it on. */
export const sharing = { freeze: false };

export type FrameType = "ADDED" | "MODIFIED" | "DELETED";

/** One version of one object. Everything is made when first asked for, and once. */
export class EncodedObject<T extends ApiObject = ApiObject> implements Encoded<T> {
  readonly revision: number;
  readonly #codec: Codec;
  readonly #stored: Uint8Array | undefined;
  #object: T | undefined;
  #json: Uint8Array | undefined;
  #protobuf: Uint8Array | undefined;

  /** One of `stored` and `object` at least; `object` is adopted: it gets its resourceVersion and is shared from now on. */
  constructor(codec: Codec, revision: number, parts: { stored?: Uint8Array | undefined; object?: T | undefined }) {
    this.#codec = codec;
    this.revision = revision;
    this.#stored = parts.stored;
    if (parts.object) this.#object = this.#adopt(parts.object);
  }

  get object(): T {
    if (!this.#object) {
      // Bytes that we wrote ourselves: they hold what the schema allows.
      const parsed = JSON.parse(text(this.#stored ?? empty)) as T;
      this.#object = this.#adopt(parsed);
    }
    return this.#object;
  }

  /** How much memory it takes for as long as anyone holds it. */
  get storedBytes(): number {
    return this.#stored?.length ?? 0;
  }

  json(): Uint8Array {
    if (this.#stored) return this.#stored;
    this.#json ??= Buffer.from(JSON.stringify(this.object));
    return this.#json;
  }

  /** The message alone, without the envelope. */
  protobuf(): Uint8Array {
    let bytes = this.#protobuf;
    if (!bytes) {
      bytes = encodeProtobuf(this.#codec.resource.schema, this.object);
      this.#protobuf = bytes;
    }
    return bytes;
  }

  /** The same object as of another revision: what a DELETED event carries. */
  at(revision: number): EncodedObject<T> {
    const stored = this.#stored && withRevision(this.#codec, this.#stored, { from: this.revision, to: revision });
    const object = { ...this.object, metadata: { ...this.object.metadata } };
    return new EncodedObject<T>(this.#codec, revision, { stored, object });
  }

  /** A newer version took its place: history needs the bytes only. */
  shed(): void {
    if (!this.#stored) return;
    this.#object = undefined;
    this.#protobuf = undefined;
  }

  #adopt(object: T): T {
    // What a dry run made has none: it was not written.
    if (this.revision > 0) object.metadata.resourceVersion = String(this.revision);
    return sharing.freeze ? deepFreeze(object) : object;
  }
}

/** What the store has, as an object of this Resource: the bytes themselves, unless another version of it is stored. */
export function decodeStored<T extends ApiObject>(
  resource: Resource<T>,
  value: Uint8Array,
  revision: number,
  written?: T,
): EncodedObject<T> {
  const codec = codecOf(resource);
  const { storedAs } = resource;
  if (!storedAs) return new EncodedObject<T>(codec, revision, { stored: value, object: written });
  return new EncodedObject<T>(codec, revision, { object: storedAs.fromStored(JSON.parse(text(value))) });
}

function withRevision({ head }: Codec, stored: Uint8Array, { from, to }: { from: number; to: number }): Uint8Array {
  const rest = stored.subarray(head.length + versionField(from).length);
  return Buffer.concat([Buffer.from(head + versionField(to)), rest]);
}

const empty = new Uint8Array();
const text = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
