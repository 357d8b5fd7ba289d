import { Buffer } from "node:buffer";
import { Reader, Writer, wire } from "#lib/proto/protobuf-wire.ts";
import { DecodeError } from "#schema/json/decode-error.ts";
import { readingSafely } from "./protobuf-decode.ts";

/** The wrapper of every protobuf body: `k8s\0` and a runtime.Unknown that describes the bytes. */
export interface Envelope {
  readonly apiVersion: string;
  readonly kind: string;
  /** The message itself; a view of the body. */
  readonly raw: Uint8Array;
}

const magic = Buffer.from("k8s\0");
const empty: Uint8Array = new Uint8Array();
const writer = new Writer();

export const encodeEnvelope = (apiVersion: string, kind: string, raw: Uint8Array): Uint8Array =>
  Buffer.concat([envelopeHead(apiVersion, kind, raw.length), raw]);

/** The part of the envelope before the message. */
function envelopeHead(apiVersion: string, kind: string, length: number): Uint8Array {
  writer.uint32(length);
  writer.key(2, wire.bytes);
  const before = writer.size;
  writer.string(kind);
  writer.key(2, wire.bytes);
  writer.string(apiVersion);
  writer.key(1, wire.bytes);
  writer.lengthAndKey(before, 1);
  writer.raw(magic);
  return writer.finish();
}

/** Throws DecodeError if the bytes are not an envelope. */
export function decodeEnvelope(bytes: Uint8Array): Envelope {
  if (bytes.length < magic.length || !magic.equals(bytes.subarray(0, magic.length))) {
    throw new DecodeError("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]");
  }
  const envelope = { apiVersion: "", kind: "", raw: empty };
  readingSafely(() => {
    const reader = new Reader(bytes.subarray(magic.length));
    while (!reader.done) {
      const key = reader.key();
      if (key === ((1 << 3) | wire.bytes)) readTypeMeta(reader, envelope);
      else if (key === ((2 << 3) | wire.bytes)) envelope.raw = reader.bytes();
      else reader.skip(key & 7);
    }
  });
  return envelope;
}

function readTypeMeta(reader: Reader, out: { apiVersion: string; kind: string }): void {
  const outer = reader.enter();
  while (!reader.done) {
    const key = reader.key();
    if (key === ((1 << 3) | wire.bytes)) out.apiVersion = reader.string();
    else if (key === ((2 << 3) | wire.bytes)) out.kind = reader.string();
    else reader.skip(key & 7);
  }
  reader.leave(outer);
}

/**
 * A complete list body from the messages of its items: envelope, metadata in field 1, items in field 2. The items are
 * copied once, into the result.
 */
export function encodeListEnvelope(
  apiVersion: string,
  kind: string,
  metadata: Uint8Array,
  items: readonly Uint8Array[],
): Uint8Array {
  let length = fieldSize(metadata.length);
  for (const item of items) length += fieldSize(item.length);
  const head = envelopeHead(apiVersion, kind, length);
  const out = Buffer.allocUnsafe(head.length + length);
  out.set(head);
  let at = putField(out, head.length, 1, metadata);
  for (const item of items) at = putField(out, at, 2, item);
  return out;
}

/**
 * A watch event in its frame: four bytes of length, then {type = 1, object = 2 {raw = 1}}. `object` is the complete
 * body that a GET would return, including the envelope.
 */
export function encodeWatchFrame(type: string, object: Uint8Array): Uint8Array {
  const typeBytes = Buffer.from(type);
  const rawSize = fieldSize(object.length);
  const length = fieldSize(typeBytes.length) + fieldSize(rawSize);
  const out = Buffer.allocUnsafe(4 + length);
  out.writeUInt32BE(length);
  let at = putField(out, 4, 1, typeBytes);
  at = putHead(out, at, 2, rawSize);
  putField(out, at, 1, object);
  return out;
}

const fieldSize = (length: number): number => 1 + varintSize(length) + length;

function varintSize(value: number): number {
  let size = 1;
  for (let rest = value; rest > 0x7f; rest = Math.floor(rest / 128)) size++;
  return size;
}

function putField(out: Buffer, at: number, tag: number, bytes: Uint8Array): number {
  const start = putHead(out, at, tag, bytes.length);
  out.set(bytes, start);
  return start + bytes.length;
}

/** The key and length of a field. The field numbers are small, so the key is one byte. */
function putHead(out: Buffer, at: number, tag: number, length: number): number {
  out[at] = (tag << 3) | wire.bytes;
  let next = at + 1;
  let rest = length;
  while (rest > 0x7f) {
    out[next++] = (rest & 0x7f) | 0x80;
    rest = Math.floor(rest / 128);
  }
  out[next] = rest;
  return next + 1;
}
