import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { encodeHello, inRecords } from "./client-hello.suite.ts";
import { maxHelloBytes, maxOpeningBytes, readClientHello } from "./client-hello.ts";

const label = fc.stringMatching(/^[a-z0-9]([-a-z0-9_]{0,20}[a-z0-9])?$/);
const host = fc.array(label, { minLength: 1, maxLength: 5 }).map((labels) => labels.join("."));
const parts = fc.record({
  serverName: fc.option(host, { nil: undefined }),
  others: fc
    .array(fc.tuple(fc.integer({ min: 1, max: 65_535 }), fc.integer({ min: 0, max: 300 })), { maxLength: 8 })
    .map((pairs) => new Map(pairs)),
  sessionLength: fc.integer({ min: 0, max: 32 }),
});

test("a hello is read as it was written, in records of any size", () => {
  fc.assert(
    fc.property(parts, fc.integer({ min: 60, max: 5_000 }), (hello, bytesEach) => {
      const bytes = inRecords(encodeHello(hello), bytesEach);
      assert.deepEqual(readClientHello(bytes), { type: "hello", serverName: hello.serverName });
      // What follows it is not read.
      assert.deepEqual(readClientHello(Buffer.concat([bytes, Buffer.from("rest")])).type, "hello");
    }),
  );
});

test("a part of a hello is incomplete, and says truly how many bytes are needed", () => {
  fc.assert(
    fc.property(parts, fc.integer({ min: 60, max: 500 }), (hello, bytesEach) => {
      const bytes = inRecords(encodeHello(hello), bytesEach);
      for (let length = 0; length < bytes.length; ) {
        const opening = readClientHello(bytes.subarray(0, length));
        assert(opening.type === "incomplete" && opening.needed > length && opening.needed <= bytes.length);
        assert.deepEqual(readClientHello(bytes.subarray(0, opening.needed - 1)), opening);
        length = opening.needed;
      }
    }),
  );
});

test("any bytes have an answer, and none is awaited for ever", () => {
  const start = fc.constantFrom([], [22, 3, 1], [22, 3, 1, 2, 0, 1, 0, 1, 252]);
  const bytes = fc
    .tuple(start, fc.uint8Array({ maxLength: 2_000 }))
    .map(([head, rest]) => Buffer.from([...head, ...rest]));
  fc.assert(
    fc.property(bytes, (some) => {
      const opening = readClientHello(some);
      if (opening.type === "incomplete") assert(opening.needed > some.length && opening.needed <= maxOpeningBytes);
    }),
  );
});

test("a byte that is changed never leads to another name without being one", () => {
  const bytes = inRecords(encodeHello({ serverName: "db.example", others: new Map([[10, 4]]) }));
  const change = fc.tuple(fc.nat(bytes.length - 1), fc.nat(255));
  fc.assert(
    fc.property(change, ([at, value]) => {
      const changed = Buffer.from(bytes);
      changed[at] = value;
      const opening = readClientHello(changed);
      if (opening.type === "hello") assert.match(opening.serverName ?? "", /^([a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?)?$/);
    }),
    { numRuns: 1_000 },
  );
});

const hello = encodeHello({ serverName: "db.example" });
/** The message with some of its bytes replaced. */
const patched = (find: string, replace: string): Buffer => {
  const at = hello.indexOf(Buffer.from(find, "hex"));
  assert(at >= 0);
  const copy = Buffer.from(hello);
  Buffer.from(replace, "hex").copy(copy, at);
  return inRecords(copy);
};
const named = (name: string): Buffer => inRecords(encodeHello({ serverName: name }));
const twice = (): Buffer => {
  const extension = hello.subarray(hello.indexOf(Buffer.from("0000000f000d00", "hex")));
  const message = Buffer.concat([hello, extension]);
  message.writeUInt16BE(message.length - 4, 2);
  message.writeUInt16BE(2 * extension.length, message.length - 2 * extension.length - 2);
  return inRecords(message);
};

const cases: readonly { readonly name: string; readonly bytes: Buffer; readonly says: object }[] = [
  { name: "nothing", bytes: Buffer.alloc(0), says: { type: "incomplete", needed: 5 } },
  { name: "a request of HTTP", bytes: Buffer.from("G"), says: { type: "unreadable" } },
  { name: "a hello of SSL 2", bytes: Buffer.from([0x80, 0x2e, 1, 3, 1]), says: { type: "unreadable" } },
  { name: "another version", bytes: Buffer.from([22, 2]), says: { type: "unreadable" } },
  { name: "an empty record", bytes: Buffer.from([22, 3, 1, 0, 0]), says: { type: "unreadable" } },
  { name: "a record that is too long", bytes: Buffer.from([22, 3, 1, 0x40, 1]), says: { type: "unreadable" } },
  {
    name: "an alert after a part",
    bytes: Buffer.concat([inRecords(hello.subarray(0, 9)), Buffer.from([21])]),
    says: { type: "unreadable" },
  },
  { name: "another message", bytes: Buffer.from([22, 3, 1, 0, 1, 2]), says: { type: "unreadable" } },
  {
    name: "a message behind the hello",
    bytes: inRecords(Buffer.concat([hello, Buffer.from([1])])),
    says: { type: "unreadable" },
  },
  { name: "records of a byte", bytes: inRecords(hello, 1), says: { type: "too long" } },
  { name: "a length above the limit", bytes: Buffer.from([22, 3, 1, 0, 4, 1, 0, 0x40, 1]), says: { type: "too long" } },
  { name: "the longest length", bytes: Buffer.from([22, 3, 1, 0, 4, 1, 255, 255, 255]), says: { type: "too long" } },
  { name: "a name in capitals", bytes: named("DB.Example"), says: { type: "hello", serverName: "db.example" } },
  { name: "no name", bytes: inRecords(encodeHello({})), says: { type: "hello", serverName: undefined } },
  { name: "an empty name", bytes: named(""), says: { type: "unreadable" } },
  { name: "a name with a zero", bytes: named("db\0.example"), says: { type: "unreadable" } },
  { name: "a name that ends in a dot", bytes: named("db.example."), says: { type: "unreadable" } },
  { name: "a star", bytes: named("*.example"), says: { type: "unreadable" } },
  { name: "a name that is too long", bytes: named(`${"a.".repeat(127)}a`), says: { type: "unreadable" } },
  { name: "a name of another type", bytes: patched("000d00", "000d01"), says: { type: "unreadable" } },
  { name: "a list of names that is too short", bytes: patched("000d00", "000c00"), says: { type: "unreadable" } },
  { name: "a name that is longer than its list", bytes: patched("00000a", "00000b"), says: { type: "unreadable" } },
  { name: "an extension that is too long", bytes: patched("000f000d", "0010000d"), says: { type: "unreadable" } },
  { name: "half a cipher suite", bytes: patched("000413011302", "000313011302"), says: { type: "unreadable" } },
  { name: "two names", bytes: twice(), says: { type: "unreadable", why: "an extension is there twice" } },
];
for (const { name, bytes, says } of cases) {
  test(`${name}: ${Object.values(says).join(" ")}`, () => assert.partialDeepStrictEqual(readClientHello(bytes), says));
}

test("a hello of the greatest size is read, and one byte more is too long", () => {
  const sized = (size: number): Buffer => {
    const base = encodeHello({ serverName: "db.example", others: new Map([[21, 0]]) }).length - 4;
    return inRecords(encodeHello({ serverName: "db.example", others: new Map([[21, size - base]]) }), 8_000);
  };
  assert.deepEqual(readClientHello(sized(maxHelloBytes)), { type: "hello", serverName: "db.example" });
  assert.deepEqual(readClientHello(sized(maxHelloBytes + 1)), { type: "too long" });
});
