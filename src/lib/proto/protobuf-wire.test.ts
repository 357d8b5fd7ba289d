import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import protobuf from "protobufjs";
import { Reader, WireError, Writer, wire } from "./protobuf-wire.ts";

/** Ours writes a message from its end. protobufjs is the independent implementation to compare with. */
const written = (write: (writer: Writer) => void): Uint8Array => {
  const writer = new Writer();
  write(writer);
  return Uint8Array.from(writer.finish());
};

test("numbers are written as protobufjs writes them, and read as it reads them", () => {
  fc.assert(
    fc.property(fc.maxSafeInteger(), fc.double(), fc.nat(), (integer, double, unsigned) => {
      const ours = written((writer) => {
        writer.uint32(unsigned);
        writer.double(double);
        writer.int(integer);
      });
      const theirs = protobuf.Writer.create().int64(integer).double(double).uint32(unsigned).finish();

      assert.deepEqual(ours, Uint8Array.from(theirs));
      const reader = new Reader(theirs);
      assert.equal(reader.int(), integer);
      assert.equal(reader.double(), double);
      assert.equal(reader.uint32(), unsigned);
      assert(reader.done);
    }),
  );
});

test("64-bit numbers keep every bit", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (value) => {
      const reader = new Reader(written((writer) => writer.bigint(value)));

      assert.equal(reader.bigint(), value);
    }),
  );
});

test("text and bytes are written as protobufjs writes them", () => {
  const text = fc.string({ unit: "grapheme", maxLength: 400 });
  fc.assert(
    fc.property(text, fc.uint8Array({ maxLength: 400 }), (string, bytes) => {
      const ours = written((writer) => {
        writer.bytes(bytes);
        writer.key(2, wire.bytes);
        writer.string(string);
        writer.key(1, wire.bytes);
      });
      const theirs = protobuf.Writer.create().uint32(10).string(string).uint32(18).bytes(bytes).finish();

      assert.deepEqual(ours, Uint8Array.from(theirs));
    }),
  );
});

test("a reader of arbitrary bytes reaches their end or throws a WireError", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      const reader = new Reader(bytes);
      try {
        while (!reader.done) reader.skip(reader.key() & 7);
      } catch (error) {
        assert(error instanceof WireError, String(error));
      }
    }),
  );
});
