import { type Encoded } from "#api/exchange.ts";
import { type ApiObject, apiVersionOf, type Resource } from "#api/resource.ts";
import { deepFreeze } from "#lib/freeze.ts";
import { encodeProtobuf } from "#schema/protobuf.ts";

/**
 * How one Resource's objects become stored bytes and come back. Stored JSON has no resourceVersion, because the store
 * gives it: served JSON is the stored bytes with the revision spliced in behind a head that is the same for all.
 *
 *   stored  {"kind":"Pod","apiVersion":"v1","metadata":{"name":…
 *   served  {"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"7","name":…
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

/** The bytes that the store keeps. `object.metadata` must have a name and no resourceVersion. */
export function toStoredBytes(codec: Codec, object: ApiObject): Uint8Array {
  const { kind: _kind, apiVersion: _apiVersion, metadata, ...rest } = object;
  const body = JSON.stringify({ metadata, ...rest });
  // `{"metadata":{` is 13 characters; the head says the same and more.
  return Buffer.from(codec.head + body.slice(13));
}

/** Frozen objects catch a component that changes what it shares; freezing costs, so only tests turn it on. */
export const sharing = { freeze: false };

export type FrameType = "ADDED" | "MODIFIED" | "DELETED";

/** One version of one object. Everything is made when first asked for, and once. */
export class EncodedObject<T extends ApiObject = ApiObject> implements Encoded<T> {
  readonly revision: number;
  readonly #codec: Codec;
  #stored: Uint8Array | undefined;
  #object: T | undefined;
  #json: Uint8Array | undefined;
  #frame: { type: FrameType; bytes: Uint8Array } | undefined;
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

  json(): Uint8Array {
    this.#json ??= this.#stored ? this.#spliced("", "") : Buffer.from(JSON.stringify(this.object));
    return this.#json;
  }

  /** A whole watch event in JSON, with its line end. */
  frame(type: FrameType): Uint8Array {
    if (this.#frame?.type === type) return this.#frame.bytes;
    const [before, after] = [`{"type":"${type}","object":`, "}\n"];
    const bytes = this.#stored
      ? this.#spliced(before, after)
      : Buffer.concat([Buffer.from(before), this.json(), Buffer.from(after)]);
    // The object's own bytes are inside the frame: lists use them from there.
    this.#json ??= bytes.subarray(before.length, bytes.length - after.length);
    this.#frame = { type, bytes };
    return bytes;
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
    const { resourceVersion: _old, ...metadata } = this.object.metadata;
    return new EncodedObject<T>(this.#codec, revision, { stored: this.#stored, object: { ...this.object, metadata } });
  }

  /** A newer version took its place: history needs the bytes only. */
  shed(): void {
    if (!this.#stored) return;
    this.#object = undefined;
    this.#frame = undefined;
    this.#json = undefined;
    this.#protobuf = undefined;
  }

  #adopt(object: T): T {
    object.metadata.resourceVersion = String(this.revision);
    return sharing.freeze ? deepFreeze(object) : object;
  }

  #spliced(before: string, after: string): Uint8Array {
    const stored = this.#stored ?? empty;
    const { head } = this.#codec;
    const start = `${before}${head}"resourceVersion":"${this.revision}",`;
    const bytes = Buffer.allocUnsafe(start.length + stored.length - head.length + after.length);
    bytes.write(start, 0, "latin1");
    bytes.set(stored.subarray(head.length), start.length);
    if (after) bytes.write(after, bytes.length - after.length, "latin1");
    return bytes;
  }
}

const empty = new Uint8Array();
const text = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
