import { parseIPv4, parseIPv6 } from "#lib/net/ip.ts";
import { escapeLabel, labelsOf, maxLabelBytes, maxNameBytes } from "./domain-name.ts";
import {
  type DnsRecord,
  datagramBytes,
  type Query,
  type Rcode,
  type RecordData,
  recordTypes,
  WireError,
} from "./message.ts";

/** Writes a message with compressed names. A record is written completely or not at all. */
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
  /** Points to a suffix of the name that was written before, whatever its case. */
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
  /** Returns false, and writes nothing, if the record does not fit. */
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

/** An answer of at most `limit` bytes. What does not fit is omitted, and the truncation flag is set unless it was only extra. */
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

/** How many items succeed before the first failure. */
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

/** Announces the largest datagram that we accept, and holds the highest bits of the rcode. */
export function optRecord(highRcode: number, dnssec: boolean): Buffer {
  const bytes = Buffer.alloc(optBytes);
  bytes.writeUInt16BE(recordTypes.OPT, 1);
  bytes.writeUInt16BE(datagramBytes, 3);
  bytes.writeUInt8(highRcode, 5);
  bytes.writeUInt16BE(dnssec ? 0x8000 : 0, 7);
  return bytes;
}
