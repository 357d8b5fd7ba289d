/**
 * Plain proto3 messages, declared as values whose TypeScript types are inferred. What is decoded has every field: a
 * scalar that was not sent is its zero value, a list is empty, a nested message is undefined. What is encoded may
 * leave out any field.
 */
export interface Message<Out, In = Partial<Out>> {
  encode(value: In): Uint8Array<ArrayBuffer>;
  decode(bytes: Uint8Array): Out;
  readonly fields: readonly CompiledField[];
}
export type Decoded<M> = M extends Message<infer Out, infer _In> ? Out : never;
export type Encodable<M> = M extends Message<infer _Out, infer In> ? In : never;

export interface Scalars {
  string: string;
  bytes: Uint8Array;
  bool: boolean;
  int32: number;
  uint32: number;
  /** As a number: exact up to 2^53. */
  int64: number;
  uint64: number;
  /** An int64 that must be exact, such as an identifier. */
  bigint: bigint;
  double: number;
}
type ScalarName = keyof Scalars;
type Shape = "single" | "repeated" | "map";
type AnyMessage = Message<unknown, never>;

export interface FieldDeclaration<Out, In> {
  readonly tag: number;
  readonly shape: Shape;
  readonly of: ScalarName | AnyMessage;
  /** Carry the types; never have a value. */
  readonly decoded?: Out;
  readonly encodable?: In;
}
type Declarations = Readonly<Record<string, FieldDeclaration<unknown, unknown>>>;
type OutOf<F> = F extends { readonly decoded?: infer T } ? T : never;
type InOf<F> = F extends { readonly encodable?: infer T } ? T : never;
type DecodedFields<D> = { -readonly [K in keyof D]-?: OutOf<D[K]> };
type EncodableFields<D> = { readonly [K in keyof D]?: InOf<D[K]> | undefined };

export const field = <K extends ScalarName>(tag: number, of: K): FieldDeclaration<Scalars[K], Scalars[K]> => ({
  tag,
  shape: "single",
  of,
});
export const nested = <Out, In>(tag: number, of: Message<Out, In>): FieldDeclaration<Out | undefined, In> => ({
  tag,
  shape: "single",
  of: of as AnyMessage,
});
export function repeated<K extends ScalarName>(
  tag: number,
  of: K,
): FieldDeclaration<Scalars[K][], readonly Scalars[K][]>;
export function repeated<Out, In>(tag: number, of: Message<Out, In>): FieldDeclaration<Out[], readonly In[]>;
export function repeated(tag: number, of: ScalarName | AnyMessage): FieldDeclaration<unknown[], unknown> {
  return { tag, shape: "repeated", of };
}
/** A map from strings to strings, the only kind that CRI and etcd have. */
export const stringMap = (
  tag: number,
): FieldDeclaration<Record<string, string>, Readonly<Record<string, string | undefined>>> => ({
  tag,
  shape: "map",
  of: "string",
});

export function message<D extends Declarations>(declarations: D): Message<DecodedFields<D>, EncodableFields<D>> {
  const fields = Object.entries(declarations).map(([name, declaration]) => compile(name, declaration));
  const byTag = new Map(fields.map((compiled) => [compiled.tag, compiled]));
  return {
    fields,
    encode(value) {
      const writer = new Writer();
      writeFields(writer, fields, value as Readonly<Record<string, unknown>>);
      return writer.finish();
    },
    decode: (bytes) => readFields(new Reader(bytes), fields, byTag) as DecodedFields<D>,
  };
}

interface CompiledField {
  readonly name: string;
  readonly tag: number;
  readonly shape: Shape;
  readonly codec: Codec;
  readonly message: AnyMessage | undefined;
}

/** How one scalar travels: its wire type, its zero value, and both directions. */
interface Codec<T = unknown> {
  readonly wire: number;
  readonly zero: T;
  write(writer: Writer, value: T): void;
  read(reader: Reader): T;
}

const varintCodec = (read: (reader: Reader) => number): Codec<number> => ({
  wire: 0,
  zero: 0,
  write: (writer, value) => writer.varint(value),
  read,
});
const empty = new Uint8Array(0);
const codecs: { readonly [K in ScalarName]: Codec<Scalars[K]> } = {
  string: { wire: 2, zero: "", write: (writer, value) => writer.string(value), read: (reader) => reader.string() },
  bytes: { wire: 2, zero: empty, write: (writer, value) => writer.bytes(value), read: (reader) => reader.bytes() },
  bool: {
    wire: 0,
    zero: false,
    write: (writer, value) => writer.varint(value ? 1 : 0),
    read: (reader) => reader.varint() !== 0,
  },
  int32: varintCodec((reader) => reader.varint() | 0),
  uint32: varintCodec((reader) => reader.varint() >>> 0),
  int64: varintCodec((reader) => reader.varint()),
  uint64: varintCodec((reader) => reader.unsignedVarint()),
  bigint: {
    wire: 0,
    zero: 0n,
    write: (writer, value) => writer.bigVarint(value),
    read: (reader) => reader.bigVarint(),
  },
  double: { wire: 1, zero: 0, write: (writer, value) => writer.double(value), read: (reader) => reader.double() },
};

function compile(name: string, { tag, shape, of }: FieldDeclaration<unknown, unknown>): CompiledField {
  if (typeof of === "string") return { name, tag, shape, codec: codecs[of] as Codec, message: undefined };
  const codec: Codec = {
    wire: 2,
    zero: undefined,
    write: (writer, value) => writer.delimited(() => writeFields(writer, of.fields, value as Record<string, unknown>)),
    read: (reader) => of.decode(reader.bytes()),
  };
  return { name, tag, shape, codec, message: of };
}

function writeFields(writer: Writer, fields: readonly CompiledField[], value: Readonly<Record<string, unknown>>): void {
  for (const { name, tag, shape, codec } of fields) {
    const held = value[name];
    if (held === undefined || held === null) continue;
    if (shape === "repeated") writeRepeated(writer, tag, codec, held as readonly unknown[]);
    else if (shape === "map") writeMap(writer, tag, held as Readonly<Record<string, string | undefined>>);
    else if (held !== codec.zero) {
      writer.varint((tag << 3) | codec.wire);
      codec.write(writer, held);
    }
  }
}

function writeRepeated(writer: Writer, tag: number, codec: Codec, items: readonly unknown[]): void {
  if (items.length === 0) return;
  if (codec.wire === 2) {
    for (const item of items) {
      writer.varint((tag << 3) | 2);
      codec.write(writer, item);
    }
    return;
  }
  writer.varint((tag << 3) | 2);
  writer.delimited(() => {
    for (const item of items) codec.write(writer, item);
  });
}

function writeMap(writer: Writer, tag: number, entries: Readonly<Record<string, string | undefined>>): void {
  for (const [key, value] of Object.entries(entries)) {
    if (value === undefined) continue;
    writer.varint((tag << 3) | 2);
    writer.delimited(() => {
      writer.varint((1 << 3) | 2);
      writer.string(key);
      writer.varint((2 << 3) | 2);
      writer.string(value);
    });
  }
}

function readFields(
  reader: Reader,
  fields: readonly CompiledField[],
  byTag: ReadonlyMap<number, CompiledField>,
): Record<string, unknown> {
  const value: Record<string, unknown> = {};
  for (const { name, shape, codec } of fields) {
    value[name] = shape === "repeated" ? [] : shape === "map" ? {} : codec.zero;
  }
  while (!reader.done) {
    const key = reader.varint();
    const wire = key & 7;
    const known = byTag.get(key >>> 3);
    if (known === undefined) reader.skip(wire);
    else if (known.shape === "repeated") readRepeated(reader, known, wire, value[known.name] as unknown[]);
    else if (known.shape === "map") readMapEntry(reader.bytes(), value[known.name] as Record<string, string>);
    else value[known.name] = known.codec.read(reader);
  }
  return value;
}

function readRepeated(reader: Reader, { codec }: CompiledField, wire: number, into: unknown[]): void {
  if (wire === codec.wire) {
    into.push(codec.read(reader));
    return;
  }
  const packed = new Reader(reader.bytes());
  while (!packed.done) into.push(codec.read(packed));
}

function readMapEntry(bytes: Uint8Array, into: Record<string, string>): void {
  const reader = new Reader(bytes);
  let key = "";
  let value = "";
  while (!reader.done) {
    const tag = reader.varint();
    if (tag >>> 3 === 1) key = reader.string();
    else if (tag >>> 3 === 2) value = reader.string();
    else reader.skip(tag & 7);
  }
  into[key] = value;
}

const twoTo32 = 0x1_0000_0000;

class Writer {
  #buffer = Buffer.allocUnsafe(256);
  #at = 0;

  finish(): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.#buffer.subarray(0, this.#at));
  }

  varint(value: number): void {
    if (value < 0 || value > Number.MAX_SAFE_INTEGER) {
      this.bigVarint(BigInt(value));
      return;
    }
    this.#reserve(10);
    let rest = value;
    while (rest >= twoTo32) {
      this.#buffer[this.#at++] = (rest % 128) | 128;
      rest = Math.floor(rest / 128);
    }
    rest = rest >>> 0;
    while (rest > 127) {
      this.#buffer[this.#at++] = (rest & 127) | 128;
      rest >>>= 7;
    }
    this.#buffer[this.#at++] = rest;
  }

  bigVarint(value: bigint): void {
    this.#reserve(10);
    let rest = BigInt.asUintN(64, value);
    while (rest > 127n) {
      this.#buffer[this.#at++] = Number(rest & 127n) | 128;
      rest >>= 7n;
    }
    this.#buffer[this.#at++] = Number(rest);
  }

  double(value: number): void {
    this.#reserve(8);
    this.#at = this.#buffer.writeDoubleLE(value, this.#at);
  }

  string(value: string): void {
    const length = Buffer.byteLength(value);
    this.varint(length);
    this.#reserve(length);
    this.#at += this.#buffer.write(value, this.#at, "utf8");
  }

  bytes(value: Uint8Array): void {
    this.varint(value.length);
    this.#reserve(value.length);
    this.#buffer.set(value, this.#at);
    this.#at += value.length;
  }

  /** Writes what `content` writes, with its length before it. */
  delimited(content: () => void): void {
    this.#reserve(1);
    const start = this.#at++;
    content();
    const length = this.#at - start - 1;
    if (length < 128) {
      this.#buffer[start] = length;
      return;
    }
    // The length needs more than the one byte kept for it: move the content along.
    const extra = varintSize(length) - 1;
    this.#reserve(extra);
    this.#buffer.copyWithin(start + 1 + extra, start + 1, this.#at);
    this.#at = start;
    this.varint(length);
    this.#at += length;
  }

  #reserve(size: number): void {
    if (this.#at + size <= this.#buffer.length) return;
    const grown = Buffer.allocUnsafe(Math.max(this.#buffer.length * 2, this.#at + size));
    grown.set(this.#buffer.subarray(0, this.#at));
    this.#buffer = grown;
  }
}

function varintSize(value: number): number {
  let size = 1;
  for (let rest = value; rest > 127; rest = Math.floor(rest / 128)) size++;
  return size;
}

class Reader {
  readonly #buffer: Buffer;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get done(): boolean {
    return this.#at >= this.#buffer.length;
  }

  /** As a signed number; exact up to 2^53 either way. */
  varint(): number {
    const first = this.#buffer[this.#at];
    if (first !== undefined && first < 128) {
      this.#at++;
      return first;
    }
    const [low, high] = this.#halves();
    return (high | 0) * twoTo32 + low;
  }

  unsignedVarint(): number {
    const [low, high] = this.#halves();
    return high * twoTo32 + low;
  }

  bigVarint(): bigint {
    const [low, high] = this.#halves();
    return BigInt.asIntN(64, (BigInt(high) << 32n) | BigInt(low));
  }

  double(): number {
    if (this.#at + 8 > this.#buffer.length) throw truncated();
    const value = this.#buffer.readDoubleLE(this.#at);
    this.#at += 8;
    return value;
  }

  string(): string {
    const [start, end] = this.#delimited();
    return this.#buffer.toString("utf8", start, end);
  }

  bytes(): Uint8Array {
    const [start, end] = this.#delimited();
    return this.#buffer.subarray(start, end);
  }

  skip(wire: number): void {
    if (wire === 0) this.#halves();
    else if (wire === 2) this.#delimited();
    else if (wire === 1) this.#at += 8;
    else if (wire === 5) this.#at += 4;
    else throw new Error(`protobuf wire type ${wire} is not known`);
    if (this.#at > this.#buffer.length) throw truncated();
  }

  #delimited(): [number, number] {
    const length = this.varint();
    const start = this.#at;
    if (length < 0 || start + length > this.#buffer.length) throw truncated();
    this.#at = start + length;
    return [start, this.#at];
  }

  #halves(): [number, number] {
    let low = 0;
    let high = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = this.#buffer[this.#at++];
      if (byte === undefined) throw truncated();
      const bits = byte & 127;
      if (shift < 28) low |= bits << shift;
      else if (shift === 28) {
        low |= bits << 28;
        high |= bits >>> 4;
      } else high |= bits << (shift - 32);
      if (byte < 128) return [low >>> 0, high >>> 0];
    }
    throw new Error("protobuf varint is longer than ten bytes");
  }
}

const truncated = () => new Error("protobuf message ends in the middle of a field");
