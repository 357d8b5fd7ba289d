import { parseIPv4, parseIPv6 } from "#lib/net/ip.ts";

/** Numbers of the record types that are understood here; others pass through as bytes. */
export const recordTypes = {
  A: 1,
  NS: 2,
  CNAME: 5,
  SOA: 6,
  PTR: 12,
  HINFO: 13,
  TXT: 16,
  AAAA: 28,
  SRV: 33,
  OPT: 41,
  ANY: 255,
} as const;

export const rcodes = {
  noError: 0,
  formatError: 1,
  serverFailure: 2,
  noSuchName: 3,
  notImplemented: 4,
  refused: 5,
} as const;
export type Rcode = (typeof rcodes)[keyof typeof rcodes];

/** Names have no dot at the end. A dot or backslash within a label stands behind a backslash. */
export type RecordData =
  | { readonly type: "A"; readonly address: string }
  | { readonly type: "AAAA"; readonly address: string }
  | { readonly type: "CNAME" | "PTR" | "NS"; readonly target: string }
  | {
      readonly type: "SRV";
      readonly priority: number;
      readonly weight: number;
      readonly port: number;
      readonly target: string;
    }
  | { readonly type: "TXT"; readonly texts: readonly string[] }
  | ({ readonly type: "SOA" } & StartOfAuthority);

export interface StartOfAuthority {
  readonly primary: string;
  readonly admin: string;
  readonly serial: number;
  readonly refresh: number;
  readonly retry: number;
  readonly expire: number;
  readonly minimum: number;
}

export interface DnsRecord {
  readonly name: string;
  readonly ttl: number;
  readonly data: RecordData;
}

export interface Question {
  /** As it was asked, in its own case. */
  readonly name: string;
  readonly type: number;
  readonly class: number;
}

export interface Query {
  readonly id: number;
  readonly opcode: number;
  readonly isResponse: boolean;
  readonly recursionDesired: boolean;
  readonly checkingDisabled: boolean;
  /** undefined unless there is exactly one. */
  readonly question: Question | undefined;
  readonly edns: Edns | undefined;
}

export interface Edns {
  /** The largest datagram that the client takes. */
  readonly sizeBytes: number;
  readonly version: number;
  readonly dnssec: boolean;
}

/** Bytes that are no DNS message. */
export class WireError extends Error {
  override readonly name = "WireError";
}

export const headerBytes = 12;
/** The largest datagram that is sent: it fits the usual links whole. */
export const datagramBytes = 1232;
export const messageBytes = 65_535;
/** No question with its options is longer. */
export const queryBytes = 4_096;
const maxNameBytes = 255;
const maxLabelBytes = 63;
/** A name has at most 127 labels, so more pointers than that only make work. */
const maxPointers = 127;

/** A cursor over a message that never leaves it. */
export class WireReader {
  readonly bytes: Buffer;
  at: number;

  constructor(bytes: Buffer, at = 0) {
    this.bytes = bytes;
    this.at = at;
  }
  uint8(): number {
    this.#need(1);
    return this.bytes.readUInt8(this.at++);
  }
  uint16(): number {
    this.#need(2);
    this.at += 2;
    return this.bytes.readUInt16BE(this.at - 2);
  }
  uint32(): number {
    this.#need(4);
    this.at += 4;
    return this.bytes.readUInt32BE(this.at - 4);
  }
  take(length: number): Buffer {
    this.#need(length);
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }
  /** Pointers only lead backwards, so that no name is without end. */
  name(): string {
    const labels: string[] = [];
    let at = this.at;
    let end: number | undefined;
    let limit = this.at;
    let length = 1;
    let pointers = 0;
    for (;;) {
      const size = this.#byteAt(at);
      if (size === 0) break;
      if (size >= 0xc0) {
        const target = ((size & 0x3f) << 8) | this.#byteAt(at + 1);
        if (target >= limit) throw new WireError(`name at ${this.at} points forward, to ${target}`);
        if (++pointers > maxPointers) throw new WireError(`name at ${this.at} has more than ${maxPointers} pointers`);
        end ??= at + 2;
        limit = target;
        at = target;
        continue;
      }
      if (size > maxLabelBytes) throw new WireError(`label of unknown kind at ${at}`);
      length += size + 1;
      if (length > maxNameBytes) throw new WireError(`name at ${this.at} is longer than ${maxNameBytes} bytes`);
      if (at + 1 + size > this.bytes.length) throw new WireError("message ends within a name");
      labels.push(escapeLabel(this.bytes.toString("latin1", at + 1, at + 1 + size)));
      at += size + 1;
    }
    this.at = end ?? at + 1;
    return labels.join(".");
  }
  #byteAt(at: number): number {
    const byte = this.bytes[at];
    if (byte === undefined) throw new WireError("message ends within a name");
    return byte;
  }
  #need(length: number): void {
    if (this.at + length > this.bytes.length) throw new WireError(`message ends at ${this.bytes.length}`);
  }
}

const escapeLabel = (label: string): string => (/[.\\]/.test(label) ? label.replace(/[.\\]/g, "\\$&") : label);

/** The labels of a name, unescaped. */
export function labelsOf(name: string): string[] {
  if (name === "") return [];
  if (!name.includes("\\")) return name.split(".");
  const labels = [""];
  for (let at = 0; at < name.length; at++) {
    const char = name[at] ?? "";
    if (char === ".") labels.push("");
    else labels[labels.length - 1] += char === "\\" ? (name[++at] ?? "") : char;
  }
  return labels;
}

/** Reads a query; what is not understood in it is passed over. */
export function decodeQuery(bytes: Buffer): Query {
  const reader = new WireReader(bytes);
  const id = reader.uint16();
  const flags = reader.uint16();
  const counts = [reader.uint16(), reader.uint16(), reader.uint16(), reader.uint16()] as const;
  const [questions, answers, authorities, additionals] = counts;
  const question = questions === 1 ? { name: reader.name(), type: reader.uint16(), class: reader.uint16() } : undefined;
  const head = {
    id,
    opcode: (flags >> 11) & 0xf,
    isResponse: (flags & 0x8000) !== 0,
    recursionDesired: (flags & 0x0100) !== 0,
    checkingDisabled: (flags & 0x0010) !== 0,
    question,
  };
  if (!question || head.isResponse) return { ...head, edns: undefined };
  let edns: Edns | undefined;
  for (let index = 0; index < answers + authorities + additionals; index++) {
    const record = readRecord(reader);
    if (record.type !== recordTypes.OPT) continue;
    if (edns) throw new WireError("message has two OPT records");
    edns = {
      sizeBytes: record.class,
      version: (record.ttl >>> 16) & 0xff,
      dnssec: (record.ttl & 0x8000) !== 0,
    };
  }
  return { ...head, edns };
}

export interface RawRecord {
  readonly start: number;
  readonly name: string;
  readonly type: number;
  readonly class: number;
  readonly ttl: number;
  readonly ttlAt: number;
  readonly dataAt: number;
  readonly length: number;
}

export function readRecord(reader: WireReader): RawRecord {
  const start = reader.at;
  const name = reader.name();
  const type = reader.uint16();
  const recordClass = reader.uint16();
  const ttlAt = reader.at;
  const ttl = reader.uint32();
  const length = reader.uint16();
  const dataAt = reader.at;
  reader.take(length);
  return { start, name, type, class: recordClass, ttl, ttlAt, dataAt, length };
}

/** The record's data, if it is one that can be passed on in another message. */
export function readData(bytes: Buffer, { type, dataAt, length }: RawRecord): RecordData | undefined {
  if (type === recordTypes.A && length === 4)
    return { type: "A", address: bytes.subarray(dataAt, dataAt + 4).join(".") };
  if (type === recordTypes.AAAA && length === 16) return { type: "AAAA", address: readIPv6(bytes, dataAt) };
  if (type === recordTypes.CNAME) return { type: "CNAME", target: new WireReader(bytes, dataAt).name() };
  return undefined;
}

function readIPv6(bytes: Buffer, at: number): string {
  const groups = Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(at + index * 2).toString(16));
  return groups.join(":");
}

/** Writes a message, names compressed. Records go in whole or not at all. */
export class WireWriter {
  #bytes = Buffer.allocUnsafe(512);
  #at = 0;
  readonly #limit: number;
  readonly #names = new Map<string, number>();

  constructor(limit: number) {
    this.#limit = limit;
  }
  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#at);
  }
  uint16(value: number): void {
    this.#room(2);
    this.#at = this.#bytes.writeUInt16BE(value & 0xffff, this.#at);
  }
  uint32(value: number): void {
    this.#room(4);
    this.#at = this.#bytes.writeUInt32BE(value >>> 0, this.#at);
  }
  raw(bytes: Uint8Array): void {
    this.#room(bytes.length);
    this.#bytes.set(bytes, this.#at);
    this.#at += bytes.length;
  }
  setUint16(at: number, value: number): void {
    this.#bytes.writeUInt16BE(value, at);
  }
  /** A tail of the name that was written before is pointed to, whatever its case. */
  name(name: string, canPoint = true): void {
    const labels = labelsOf(name);
    const length = labels.reduce((sum, label) => sum + label.length + 1, 1);
    if (length > maxNameBytes) throw new WireError(`name of ${length} bytes`);
    for (let index = 0; index < labels.length; index++) {
      const tail = labels.slice(index).map(escapeLabel).join(".").toLowerCase();
      const known = this.#names.get(tail);
      if (known !== undefined && canPoint) return this.uint16(0xc000 | known);
      if (known === undefined && this.#at < 0x4000) this.#names.set(tail, this.#at);
      this.#label(labels[index] ?? "");
    }
    this.raw(zero);
  }
  /** False, and nothing is written, if it does not fit. */
  record(record: DnsRecord): boolean {
    const start = this.#at;
    this.name(record.name);
    this.uint16(recordTypes[record.data.type]);
    this.uint16(1);
    this.uint32(record.ttl);
    const lengthAt = this.#at;
    this.uint16(0);
    this.#data(record.data);
    this.setUint16(lengthAt, this.#at - lengthAt - 2);
    return this.#fitsSince(start);
  }
  #fitsSince(start: number): boolean {
    if (this.#at <= this.#limit) return true;
    this.#at = start;
    for (const [tail, at] of this.#names) if (at >= start) this.#names.delete(tail);
    return false;
  }
  #data(data: RecordData): void {
    switch (data.type) {
      case "A":
        return this.raw(addressBytes(ipv4Bytes(data.address), data.address));
      case "AAAA":
        return this.raw(addressBytes(parseIPv6(data.address), data.address));
      case "TXT":
        for (const text of data.texts) this.#text(text);
        return;
      case "SRV":
        for (const number of [data.priority, data.weight, data.port]) this.uint16(number);
        return this.name(data.target, false);
      case "SOA":
        this.name(data.primary);
        this.name(data.admin);
        for (const number of [data.serial, data.refresh, data.retry, data.expire, data.minimum]) this.uint32(number);
        return;
      default:
        return this.name(data.target);
    }
  }
  #text(text: string): void {
    const bytes = Buffer.from(text).subarray(0, 255);
    this.raw(Buffer.from([bytes.length]));
    this.raw(bytes);
  }
  #label(label: string): void {
    const bytes = Buffer.from(label, "latin1");
    if (bytes.length === 0 || bytes.length > maxLabelBytes) throw new WireError(`label of ${bytes.length} bytes`);
    this.raw(Buffer.from([bytes.length]));
    this.raw(bytes);
  }
  #room(length: number): void {
    if (this.#at + length <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#at + length));
    this.#bytes.copy(larger, 0, 0, this.#at);
    this.#bytes = larger;
  }
}

const zero = Uint8Array.of(0);

const ipv4Bytes = (address: string): Uint8Array | undefined =>
  parseIPv4(address) === undefined ? undefined : Uint8Array.from(address.split("."), Number);

function addressBytes(bytes: Uint8Array | undefined, address: string): Uint8Array {
  if (!bytes) throw new WireError(`not an address: ${address.slice(0, maxLabelBytes)}`);
  return bytes;
}

export interface AnswerParts {
  readonly rcode: Rcode | number;
  readonly authoritative: boolean;
  readonly answers?: readonly DnsRecord[];
  readonly authority?: readonly DnsRecord[];
  readonly additional?: readonly DnsRecord[];
}

/** An answer of at most so many bytes. What does not fit is left out, and the client told, unless it was only extra. */
export function encodeAnswer(query: Query, parts: AnswerParts, limit: number): Buffer {
  const { answers = [], authority = [], additional = [] } = parts;
  const writer = new WireWriter(query.edns ? limit - optBytes : limit);
  writer.uint16(query.id);
  writer.uint16(0);
  for (let count = 0; count < 4; count++) writer.uint16(0);
  if (query.question) {
    writer.name(query.question.name);
    writer.uint16(query.question.type);
    writer.uint16(query.question.class);
    writer.setUint16(4, 1);
  }
  const written = [answers, authority, additional].map((records) => countWhile(records, (one) => writer.record(one)));
  const [inAnswer = 0, inAuthority = 0, extra = 0] = written;
  const truncated = inAnswer < answers.length || inAuthority < authority.length;
  writer.setUint16(2, flagsOf(query, parts, truncated));
  writer.setUint16(6, inAnswer);
  writer.setUint16(8, truncated && inAnswer < answers.length ? 0 : inAuthority);
  writer.setUint16(10, extra + (query.edns ? 1 : 0));
  if (query.edns) writer.raw(optRecord(parts.rcode >> 4, query.edns.dnssec));
  return writer.bytes;
}

/** How many of the first ones succeed. */
function countWhile<T>(items: readonly T[], succeeds: (item: T) => boolean): number {
  const failed = items.findIndex((item) => !succeeds(item));
  return failed < 0 ? items.length : failed;
}

function flagsOf(query: Query, { rcode, authoritative }: AnswerParts, truncated: boolean): number {
  return (
    0x8080 |
    (query.opcode << 11) |
    (authoritative ? 0x0400 : 0) |
    (truncated ? 0x0200 : 0) |
    (query.recursionDesired ? 0x0100 : 0) |
    (query.checkingDisabled ? 0x0010 : 0) |
    (rcode & 0xf)
  );
}

export const optBytes = 11;

/** Says how large a datagram we take; the highest bits of the rcode stand here. */
export function optRecord(highRcode: number, dnssec: boolean): Buffer {
  const bytes = Buffer.alloc(optBytes);
  bytes.writeUInt16BE(recordTypes.OPT, 1);
  bytes.writeUInt16BE(datagramBytes, 3);
  bytes.writeUInt8(highRcode, 5);
  bytes.writeUInt16BE(dnssec ? 0x8000 : 0, 7);
  return bytes;
}

/** The type of address record that an address goes into. */
export function addressData(address: string): RecordData | undefined {
  if (parseIPv4(address) !== undefined) return { type: "A", address };
  return parseIPv6(address) ? { type: "AAAA", address } : undefined;
}
