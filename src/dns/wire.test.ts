import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "#lib/data/random.ts";
import { labelsOf } from "./domain-name.ts";
import { type DnsRecord, type Query, rcodes, recordTypes, WireError } from "./message.ts";
import { decodeQuery, readRecord, WireReader } from "./wire-reader.ts";
import { encodeAnswer, WireWriter } from "./wire-writer.ts";

const queryBytes = Buffer.from(
  "abcd01000001000000000001" + "03777777" + "076578616d706c65" + "00" + "00010001" + "0000291000000080000000",
  "hex",
);
const query = (edns?: Query["edns"]): Query => ({
  ...{ id: 7, opcode: 0, isResponse: false, recursionDesired: true, checkingDisabled: false, edns },
  question: { name: "Web.example", type: recordTypes.A, class: 1 },
});
const address = (index: number): DnsRecord => ({
  name: "web.example",
  ttl: 5,
  data: { type: "A", address: `10.0.${index >> 8}.${index & 255}` },
});

test("decodeQuery() reads the question and the client's capabilities", () => {
  assert.deepEqual(decodeQuery(queryBytes), {
    ...{ id: 0xabcd, opcode: 0, isResponse: false, recursionDesired: true, checkingDisabled: false },
    question: { name: "www.example", type: 1, class: 1 },
    edns: { sizeBytes: 4096, version: 0, dnssec: true },
  });
});

test("decodeQuery() refuses every message that ends early", () => {
  for (let length = 0; length < queryBytes.length; length++) {
    assert.throws(() => decodeQuery(queryBytes.subarray(0, length)), WireError, `${length} bytes`);
  }
});

test("decodeQuery() survives any bytes", () => {
  const random = seededRandom(1);
  for (let round = 0; round < 5_000; round++) {
    const bytes = Buffer.from(queryBytes);
    for (let change = 0; change < 4; change++) bytes[Math.floor(random() * bytes.length)] = Math.floor(random() * 256);
    try {
      decodeQuery(bytes);
    } catch (error) {
      assert(error instanceof WireError, String(error));
    }
  }
});

test("a name that points to itself, forward, or grows too long is refused", () => {
  assert.throws(() => new WireReader(Buffer.from("c000", "hex")).name(), /points forward/);
  assert.throws(() => new WireReader(Buffer.from("c002c000", "hex")).name(), /points forward/);
  const long = Buffer.concat(Array.from({ length: 5 }, () => Buffer.concat([Buffer.from([63]), Buffer.alloc(63, 97)])));
  assert.throws(() => new WireReader(Buffer.concat([long, Buffer.from([0])])).name(), /longer than 255/);
  assert.throws(() => new WireReader(Buffer.from("80", "hex")).name(), /unknown kind/);
});

test("dots within a label differ from those between labels", () => {
  const writer = new WireWriter(512);
  writer.name("a\\.b.c\\\\d");

  assert.deepEqual([...writer.bytes], [3, 97, 46, 98, 3, 99, 92, 100, 0]);
  assert.equal(new WireReader(writer.bytes).name(), "a\\.b.c\\\\d");
  assert.deepEqual(labelsOf("a\\.b.c"), ["a.b", "c"]);
});

test("encodeAnswer() writes each name once and keeps the client's spelling", () => {
  const bytes = encodeAnswer(query(), { rcode: rcodes.noError, authoritative: true, answers: [address(1)] }, 512);

  assert.equal(
    bytes.toString("hex"),
    "0007858000010001000000000357656207657861" + "6d706c650000010001" + "c00c00010001000000050004" + "0a000001",
  );
});

test("encodeAnswer() writes every type of record", () => {
  const name = "x.example";
  const answers: DnsRecord[] = [
    { name, ttl: 1, data: { type: "AAAA", address: "fd00::1:2" } },
    { name, ttl: 1, data: { type: "AAAA", address: "::ffff:10.1.2.3" } },
    { name, ttl: 1, data: { type: "TXT", texts: ["one", "two"] } },
    { name, ttl: 1, data: { type: "SRV", priority: 1, weight: 2, port: 3, target: "example" } },
    { name, ttl: 1, data: { type: "PTR", target: "y.example" } },
  ];
  const reader = new WireReader(encodeAnswer(query(), { rcode: 0, authoritative: true, answers }, 512), 29);

  const data = answers.map(() => {
    const { dataAt, length } = readRecord(reader);
    return reader.bytes.subarray(dataAt, dataAt + length).toString("hex");
  });
  assert.deepEqual(data, [
    "fd000000000000000000000000010002",
    "00000000000000000000ffff0a010203",
    "036f6e650374776f",
    `000100020003${"076578616d706c65"}00`,
    "0179c010",
  ]);
});

test("encodeAnswer() omits what does not fit, and sets the truncation flag", () => {
  const answers = Array.from({ length: 100 }, (_, index) => address(index));
  const bytes = encodeAnswer(
    query({ sizeBytes: 512, version: 0, dnssec: false }),
    { rcode: 0, authoritative: true, answers },
    512,
  );

  assert(bytes.length <= 512);
  assert.equal((bytes[2] ?? 0) & 2, 2, "the truncation flag");
  assert.equal(bytes.readUInt16BE(6), Math.floor((512 - 11 - 29) / 16));
  const reader = new WireReader(bytes, 29);
  for (let index = 0; index < bytes.readUInt16BE(6); index++) readRecord(reader);
  assert.equal(readRecord(reader).type, recordTypes.OPT);
  assert.equal(reader.at, bytes.length);
});

test("encodeAnswer() omits extra records without the truncation flag", () => {
  const additional = Array.from({ length: 100 }, (_, index) => address(index));
  const bytes = encodeAnswer(query(), { rcode: 0, authoritative: true, answers: [address(1)], additional }, 512);

  assert(bytes.length <= 512);
  assert.equal((bytes[2] ?? 0) & 2, 0);
});

test("a label of 64 bytes, a name of 256 bytes and an invalid address cannot be encoded", () => {
  for (const name of ["a".repeat(64), `${"a".repeat(63)}.`.repeat(4).slice(0, -1), "a..b"]) {
    assert.throws(() => new WireWriter(512).name(name), WireError, name);
  }
  for (const data of [{ type: "A", address: "10.1" } as const, { type: "AAAA", address: "fe80::1%eth0" } as const]) {
    assert.throws(() => new WireWriter(512).record({ name: "a", ttl: 1, data }), WireError);
  }
});
