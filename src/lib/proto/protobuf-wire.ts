import { Buffer } from "node:buffer";
import { lastingConcat } from "#lib/data/lasting-bytes.ts";

/** Bytes that are not protobuf. */
export class WireError extends Error {
  override readonly name = "WireError";
}

export class TooManyFieldsError extends WireError {}

/** The wire types: how the bytes of a field are laid out. */
export const wire = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const;

const two32 = 0x1_0000_0000;

/**
 * Writes a message from its end to its start: when the length of an inner message is needed, its bytes are already
 * there, so nothing is measured first or moved later. Callers therefore write the last field first, and each field's
 * value before its key.
 */
export class Writer {
  #buffer = Buffer.allocUnsafeSlow(16 * 1024);
  #at = this.#buffer.length;

  /** How many bytes have been written. */
  get size(): number {
    return this.#buffer.length - this.#at;
  }

  key(tag: number, wireType: number): void {
    this.uint32((tag << 3) | wireType);
  }

  /** Writes the length and the key of field `tag` for everything written since `size` was `before`. */
  lengthAndKey(before: number, tag: number): void {
    this.uint32(this.size - before);
    this.key(tag, wire.bytes);
  }

  uint32(value: number): void {
    if (value < 0x80) {
      this.#reserve(1);
      this.#buffer[--this.#at] = value;
    } else this.#uint64(0, value);
  }

  /** Any integer that a number holds exactly; negative ones take ten bytes. */
  int(value: number): void {
    if (value >= 0 && value < two32) this.uint32(value);
    else {
      const high = Math.floor(value / two32);
      this.#uint64(high >>> 0, value - high * two32);
    }
  }

  bigint(value: bigint): void {
    const bits = BigInt.asUintN(64, value);
    this.#uint64(Number(bits >> 32n), Number(bits & 0xffff_ffffn));
  }

  bool(value: boolean): void {
    this.uint32(value ? 1 : 0);
  }

  double(value: number): void {
    this.#reserve(8);
    this.#at -= 8;
    this.#buffer.writeDoubleLE(value, this.#at);
  }

  /** A string in UTF-8, with its length in front. */
  string(text: string): void {
    const length = this.#text(text);
    this.uint32(length);
  }

  /** Raw bytes, with their length in front. */
  bytes(bytes: Uint8Array): void {
    this.raw(bytes);
    this.uint32(bytes.length);
  }

  raw(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#at -= bytes.length;
    this.#buffer.set(bytes, this.#at);
  }

  /** Returns a copy of what was written and empties the writer for reuse. */
  finish(): Uint8Array {
    const bytes = lastingConcat([this.#buffer.subarray(this.#at)]);
    this.clear();
    return bytes;
  }

  clear(): void {
    // One huge object must not keep its memory for ever.
    if (this.#buffer.length > 1024 * 1024) this.#buffer = Buffer.allocUnsafeSlow(16 * 1024);
    this.#at = this.#buffer.length;
  }

  #uint64(high: number, low: number): void {
    const size = varintSize(high, low);
    this.#reserve(size);
    this.#at -= size;
    let at = this.#at;
    let upper = high;
    let lower = low;
    while (upper > 0 || lower > 0x7f) {
      this.#buffer[at++] = (lower & 0x7f) | 0x80;
      lower = ((lower >>> 7) | (upper << 25)) >>> 0;
      upper >>>= 7;
    }
    this.#buffer[at] = lower;
  }

  #text(text: string): number {
    const { length } = text;
    if (length > 48) return this.#longText(text);
    this.#reserve(length);
    const start = this.#at - length;
    for (let index = 0; index < length; index++) {
      const code = text.charCodeAt(index);
      if (code > 0x7f) return this.#longText(text);
      this.#buffer[start + index] = code;
    }
    this.#at = start;
    return length;
  }

  #longText(text: string): number {
    const length = Buffer.byteLength(text);
    this.#reserve(length);
    this.#at -= length;
    this.#buffer.write(text, this.#at, length, "utf8");
    return length;
  }

  #reserve(count: number): void {
    if (count <= this.#at) return;
    const used = this.size;
    const larger = Buffer.allocUnsafeSlow(Math.max(this.#buffer.length * 2, used + count + 1024));
    larger.set(this.#buffer.subarray(this.#at), larger.length - used);
    this.#buffer = larger;
    this.#at = larger.length - used;
  }
}

function varintSize(high: number, low: number): number {
  if (high === 0) {
    if (low < 0x80) return 1;
    if (low < 0x4000) return 2;
    if (low < 0x20_0000) return 3;
    return low < 0x1000_0000 ? 4 : 5;
  }
  return high < 0x8 ? 5 : Math.ceil((32 - Math.clz32(high) + 32) / 7);
}

/** Reads one message. Every length is checked against the available bytes before anything is allocated. */
export class Reader {
  readonly #buffer: Buffer;
  #at: number;
  /** Where the message being read ends. */
  #end: number;
  /** How many more fields may be read. */
  #left: number;

  constructor(bytes: Uint8Array, maxFields = 1 << 30) {
    this.#left = maxFields;
    this.#buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#at = 0;
    this.#end = bytes.length;
  }

  get done(): boolean {
    return this.#at >= this.#end;
  }

  /** The key of the next field: number and wire type, as `tag << 3 | type`. */
  key(): number {
    this.count();
    const key = this.uint32();
    if (key < 8) throw new WireError("proto: illegal tag 0");
    return key;
  }

  /** Counts one more value, and throws if there are too many. */
  count(): void {
    if (--this.#left < 0) throw new TooManyFieldsError("proto: too many fields");
  }

  uint32(): number {
    const byte = this.#byte();
    if (byte < 0x80) return byte;
    const { high, low } = this.#rest(byte);
    if (high !== 0) throw new WireError("proto: integer overflow");
    return low;
  }

  /** A signed integer, rounded if a number cannot hold it. */
  int(): number {
    const byte = this.#byte();
    if (byte < 0x80) return byte;
    const { high, low } = this.#rest(byte);
    return (high | 0) * two32 + low;
  }

  /** A signed integer of 32 bits; higher bits are cut off, as Go does. */
  int32(): number {
    const byte = this.#byte();
    return byte < 0x80 ? byte : this.#rest(byte).low | 0;
  }

  bigint(): bigint {
    const byte = this.#byte();
    if (byte < 0x80) return BigInt(byte);
    const { high, low } = this.#rest(byte);
    return BigInt.asIntN(64, (BigInt(high) << 32n) | BigInt(low));
  }

  bool(): boolean {
    return this.int() !== 0;
  }

  double(): number {
    this.#need(8);
    this.#at += 8;
    return this.#buffer.readDoubleLE(this.#at - 8);
  }

  string(): string {
    const start = this.#skipBytes();
    return this.#buffer.toString("utf8", start, this.#at);
  }

  /** A view of the bytes, not a copy. */
  bytes(): Buffer {
    const start = this.#skipBytes();
    return this.#buffer.subarray(start, this.#at);
  }

  /** Starts reading the nested message at this position; pass the result to `leave` when it is `done`. */
  enter(): number {
    const length = this.uint32();
    this.#need(length);
    const outer = this.#end;
    this.#end = this.#at + length;
    return outer;
  }

  leave(outer: number): void {
    this.#at = this.#end;
    this.#end = outer;
  }

  skip(wireType: number): void {
    if (wireType === wire.varint) this.int();
    else if (wireType === wire.bytes) this.#skipBytes();
    else if (wireType === wire.fixed64) this.#skipFixed(8);
    else if (wireType === wire.fixed32) this.#skipFixed(4);
    else throw new WireError(`proto: illegal wireType ${wireType}`);
  }

  #skipFixed(count: number): void {
    this.#need(count);
    this.#at += count;
  }

  #skipBytes(): number {
    const length = this.uint32();
    this.#need(length);
    const start = this.#at;
    this.#at += length;
    return start;
  }

  #byte(): number {
    this.#need(1);
    return this.#buffer[this.#at++] as number;
  }

  /** The remaining bits after a first byte that says there are more. */
  #rest(first: number): { high: number; low: number } {
    let low = first & 0x7f;
    let high = 0;
    for (let shift = 7; shift < 70; shift += 7) {
      const byte = this.#byte();
      const bits = byte & 0x7f;
      if (shift < 28) low |= bits << shift;
      else if (shift === 28) {
        low |= bits << 28;
        high = bits >>> 4;
      } else if (shift < 63) high |= bits << (shift - 32);
      else high |= (bits & 1) << 31;
      if (byte < 0x80) return { high: high >>> 0, low: low >>> 0 };
    }
    throw new WireError("proto: integer overflow");
  }

  #need(count: number): void {
    if (count > this.#end - this.#at) throw new WireError("unexpected EOF");
  }
}
