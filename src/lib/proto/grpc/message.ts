import { Reader, Writer, wire } from "../protobuf-wire.ts";

/**
 * Plain proto3 messages, declared as values whose TypeScript types are inferred. A decoded message has every field: a
 * scalar that was not sent is its zero value, a list is empty, a nested message is undefined. Encoding allows any field
 * to be absent.
 */
export interface Message<Out, In = Partial<Out>> {
  encode(value: In): Uint8Array;
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
  /** Carries only the types; never has a value. */
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
  const read = readerOf(fields);
  return {
    fields,
    encode(value) {
      writer.clear();
      writeFields(fields, value as Readonly<Record<string, unknown>>);
      return writer.finish();
    },
    decode: (bytes) => read(new Reader(bytes)) as DecodedFields<D>,
  };
}

/** One writer is enough, because encoding is synchronous. */
const writer = new Writer();

interface CompiledField {
  readonly name: string;
  readonly tag: number;
  readonly shape: Shape;
  readonly codec: Codec;
}

/** How one value is encoded: its wire type, its zero value, and both directions. */
interface Codec<T = unknown> {
  readonly wire: number;
  readonly zero: T;
  write(value: T): void;
  read(reader: Reader): T;
}

const intCodec = (read: (reader: Reader) => number): Codec<number> => ({
  wire: wire.varint,
  zero: 0,
  write: (value) => writer.int(value),
  read,
});
const codecs: { readonly [K in ScalarName]: Codec<Scalars[K]> } = {
  string: { wire: wire.bytes, zero: "", write: (value) => writer.string(value), read: (reader) => reader.string() },
  bytes: {
    wire: wire.bytes,
    zero: new Uint8Array(0),
    write: (value) => writer.bytes(value),
    read: (reader) => reader.bytes(),
  },
  bool: { wire: wire.varint, zero: false, write: (value) => writer.bool(value), read: (reader) => reader.bool() },
  int32: intCodec((reader) => reader.int32()),
  uint32: intCodec((reader) => reader.int32() >>> 0),
  int64: intCodec((reader) => reader.int()),
  uint64: intCodec((reader) => unsigned(reader.int())),
  bigint: { wire: wire.varint, zero: 0n, write: (value) => writer.bigint(value), read: (reader) => reader.bigint() },
  double: { wire: wire.fixed64, zero: 0, write: (value) => writer.double(value), read: (reader) => reader.double() },
};

const unsigned = (value: number): number => (value < 0 ? value + 2 ** 64 : value);

function compile(name: string, { tag, shape, of }: FieldDeclaration<unknown, unknown>): CompiledField {
  if (typeof of === "string") return { name, tag, shape, codec: codecs[of] as Codec };
  const read = readerOf(of.fields);
  const codec: Codec = {
    wire: wire.bytes,
    zero: undefined,
    write(value) {
      const before = writer.size;
      writeFields(of.fields, value as Readonly<Record<string, unknown>>);
      writer.uint32(writer.size - before);
    },
    read(reader) {
      const outer = reader.enter();
      const value = read(reader);
      reader.leave(outer);
      return value;
    },
  };
  return { name, tag, shape, codec };
}

/** Last field first, because the writer works from the end. */
function writeFields(fields: readonly CompiledField[], value: Readonly<Record<string, unknown>>): void {
  for (let at = fields.length - 1; at >= 0; at--) {
    const { name, tag, shape, codec } = fields[at] as CompiledField;
    const held = value[name];
    if (held === undefined || held === null) continue;
    if (shape === "repeated") writeRepeated(tag, codec, held as readonly unknown[]);
    else if (shape === "map") writeMap(tag, held as Readonly<Record<string, string | undefined>>);
    else if (held !== codec.zero) writeOne(tag, codec, held);
  }
}

function writeOne(tag: number, codec: Codec, value: unknown): void {
  codec.write(value);
  writer.key(tag, codec.wire);
}

function writeRepeated(tag: number, codec: Codec, items: readonly unknown[]): void {
  if (items.length === 0) return;
  if (codec.wire === wire.bytes) {
    for (const item of items.toReversed()) writeOne(tag, codec, item);
    return;
  }
  const before = writer.size;
  for (const item of items.toReversed()) codec.write(item);
  writer.lengthAndKey(before, tag);
}

function writeMap(tag: number, entries: Readonly<Record<string, string | undefined>>): void {
  for (const [key, value] of Object.entries(entries).toReversed()) {
    if (value === undefined) continue;
    const before = writer.size;
    writeOne(2, codecs.string as Codec, value);
    writeOne(1, codecs.string as Codec, key);
    writer.lengthAndKey(before, tag);
  }
}

function readerOf(fields: readonly CompiledField[]): (reader: Reader) => Record<string, unknown> {
  const byTag = new Map(fields.map((compiled) => [compiled.tag, compiled]));
  return (reader) => {
    const value: Record<string, unknown> = {};
    for (const { name, shape, codec } of fields) {
      value[name] = shape === "repeated" ? [] : shape === "map" ? {} : codec.zero;
    }
    while (!reader.done) readField(reader, byTag, value);
    return value;
  };
}

function readField(reader: Reader, byTag: ReadonlyMap<number, CompiledField>, into: Record<string, unknown>): void {
  const key = reader.key();
  const known = byTag.get(key >>> 3);
  if (known === undefined) reader.skip(key & 7);
  else if (known.shape === "repeated") readRepeated(reader, known.codec, key & 7, into[known.name] as unknown[]);
  else if (known.shape === "map") readMapEntry(reader, into[known.name] as Record<string, string>);
  else into[known.name] = known.codec.read(reader);
}

function readRepeated(reader: Reader, codec: Codec, wireType: number, into: unknown[]): void {
  if (wireType === codec.wire) {
    into.push(codec.read(reader));
    return;
  }
  const outer = reader.enter();
  while (!reader.done) into.push(codec.read(reader));
  reader.leave(outer);
}

function readMapEntry(reader: Reader, into: Record<string, string>): void {
  const entry = { key: "", value: "" };
  const outer = reader.enter();
  while (!reader.done) {
    const key = reader.key();
    if (key >>> 3 === 1) entry.key = reader.string();
    else if (key >>> 3 === 2) entry.value = reader.string();
    else reader.skip(key & 7);
  }
  reader.leave(outer);
  into[entry.key] = entry.value;
}
