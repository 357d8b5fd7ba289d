import { escapeLabel, maxLabelBytes, maxNameBytes } from "./domain-name.ts";
import { type Edns, type Query, type RecordData, recordTypes, WireError } from "./message.ts";

/** A name has at most 127 labels, so more pointers than that are an attack. */
const maxPointers = 127;

/** A cursor that cannot leave its message. */
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
  /** Pointers may only lead backwards, so that every name ends. */
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

/** Reads a query, and skips what it does not understand. */
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

/** The record's data, if it can be copied into another message. */
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
