import { labelsOf } from "./domain-name.ts";
import { type DnsRecord, headerBytes, type Query, type Question, rcodes, recordTypes, WireError } from "./message.ts";
import { type RawRecord, readData, readRecord, WireReader } from "./wire-reader.ts";
import { optBytes, optRecord, WireWriter } from "./wire-writer.ts";

/** Another server's answer: its bytes without the OPT record, and what is needed to forward it. */
export interface UpstreamAnswer {
  readonly bytes: Buffer;
  readonly rcode: number;
  readonly isTruncated: boolean;
  /** The offsets of all times to live in the bytes. */
  readonly ttlsAt: readonly number[];
  /** How long it may be cached. */
  readonly ttlSeconds: number;
}

const maxTtlSeconds = 3600;
const maxNegativeTtlSeconds = 30;

export interface UpstreamQuery {
  readonly question: Question;
  readonly dnssec: boolean;
  readonly checkingDisabled: boolean;
}

export function encodeUpstreamQuery(id: number, { question, dnssec, checkingDisabled }: UpstreamQuery): Buffer {
  const writer = new WireWriter(512);
  writer.uint16(id);
  writer.uint16(0x0100 | (checkingDisabled ? 0x0010 : 0));
  for (const count of [1, 0, 0, 1]) writer.uint16(count);
  writer.name(question.name);
  writer.uint16(question.type);
  writer.uint16(question.class);
  writer.raw(optRecord(0, dnssec));
  return writer.bytes;
}

/** Whether the bytes answer the question with this id. */
export function isAnswerTo(bytes: Buffer, id: number, asked: Question): boolean {
  if (bytes.length < headerBytes || bytes.readUInt16BE(0) !== id || (bytes[2] ?? 0) < 0x80) return false;
  try {
    const reader = new WireReader(bytes, headerBytes);
    const isSame = reader.name().toLowerCase() === asked.name.toLowerCase();
    return isSame && reader.uint16() === asked.type && reader.uint16() === asked.class;
  } catch {
    return false; // Not a DNS message.
  }
}

export function decodeUpstreamAnswer(bytes: Buffer): UpstreamAnswer {
  const reader = new WireReader(bytes, 2);
  const flags = reader.uint16();
  const [questions, ...counts] = [reader.uint16(), reader.uint16(), reader.uint16(), reader.uint16()];
  if (questions !== 1) throw new WireError(`answer has ${questions} questions`);
  reader.name();
  reader.take(4);
  const sections = counts.map((count) => Array.from({ length: count }, () => readRecord(reader)));
  const [answers = [], authority = [], additional = []] = sections;
  const opt = additional.findIndex(({ type }) => type === recordTypes.OPT);
  const extra = opt < 0 ? additional : additional.slice(0, opt);
  const kept = Buffer.from(bytes.subarray(0, opt < 0 ? reader.at : additional[opt]?.start));
  kept.writeUInt16BE(extra.length, 10);
  return {
    bytes: kept,
    rcode: flags & 0xf,
    isTruncated: (flags & 0x0200) !== 0,
    ttlsAt: [...answers, ...authority, ...extra].map(({ ttlAt }) => ttlAt),
    ttlSeconds: ttlOf(bytes, flags & 0xf, { answers, authority }),
  };
}

/** Those of its answer records that can be copied into another message. */
export function recordsOf({ bytes }: UpstreamAnswer): DnsRecord[] {
  const reader = new WireReader(bytes, headerBytes);
  reader.name();
  reader.take(4);
  const answers = Array.from({ length: bytes.readUInt16BE(6) }, () => readRecord(reader));
  return answers.flatMap((record) => {
    const data = readData(bytes, record);
    return data ? [{ name: record.name, ttl: record.ttl, data }] : [];
  });
}

interface Sections {
  readonly answers: readonly RawRecord[];
  readonly authority: readonly RawRecord[];
}

/** 0 if it must not be cached. A negative answer is cached as long as its SOA record says. */
function ttlOf(bytes: Buffer, rcode: number, { answers, authority }: Sections): number {
  if (rcode !== rcodes.noError && rcode !== rcodes.noSuchName) return 0;
  if (rcode === rcodes.noError && answers.length > 0) {
    return Math.min(maxTtlSeconds, ...answers.map(({ ttl }) => ttl));
  }
  const soa = authority.find(({ type }) => type === recordTypes.SOA);
  if (!soa || soa.length < 4) return 0;
  const minimum = bytes.readUInt32BE(soa.dataAt + soa.length - 4);
  return Math.min(maxNegativeTtlSeconds, soa.ttl, minimum);
}

/** The answer for one client: its id, its spelling of the name, the remaining time to live, at most `limit` bytes. */
export function passOn(query: Query, answer: UpstreamAnswer, to: { limit: number; ageSeconds: number }): Buffer {
  const { question, edns } = query;
  const room = to.limit - (edns ? optBytes : 0);
  const questionEnd = headerBytes + (question ? questionBytes(question) : 0);
  const isCut = answer.bytes.length > room;
  const bytes = Buffer.from(isCut ? answer.bytes.subarray(0, questionEnd) : answer.bytes);
  if (isCut) bytes.fill(0, 6, headerBytes);
  else for (const at of answer.ttlsAt) bytes.writeUInt32BE(Math.max(0, bytes.readUInt32BE(at) - to.ageSeconds), at);
  bytes.writeUInt16BE(query.id, 0);
  const flags = bytes.readUInt16BE(2) & ~0x0510;
  bytes.writeUInt16BE(
    flags |
      0x8080 |
      (query.recursionDesired ? 0x0100 : 0) |
      (query.checkingDisabled ? 0x0010 : 0) |
      (isCut ? 0x0200 : 0),
    2,
  );
  if (question) copyName(question.name, bytes);
  if (!edns) return bytes;
  bytes.writeUInt16BE(bytes.readUInt16BE(10) + 1, 10);
  return Buffer.concat([bytes, optRecord(0, edns.dnssec)]);
}

const questionBytes = ({ name }: Question): number =>
  labelsOf(name).reduce((sum, label) => sum + label.length + 1, 1) + 4;

/** In place, because every spelling of a name has the same length. */
function copyName(name: string, bytes: Buffer): void {
  let at = headerBytes;
  for (const label of labelsOf(name)) at += 1 + bytes.write(label, at + 1, "latin1");
}
