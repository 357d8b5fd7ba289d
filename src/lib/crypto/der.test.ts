import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { der, readDer, readObjectId } from "./der.ts";

test("readDer() gives back what der wrote, nested to any depth and of any length", () => {
  const leaf = fc.uint8Array({ maxLength: 300 }).map((bytes) => der.octetString(bytes));
  const tree = fc.letrec<{ node: Buffer }>((tie) => ({
    node: fc.oneof(
      { depthSize: "small" },
      leaf,
      fc.array(tie("node"), { maxLength: 4 }).map((parts) => der.sequence(...parts)),
    ),
  })).node;

  fc.assert(
    fc.property(fc.array(tree, { maxLength: 4 }), (parts) => {
      const [sequence, ...rest] = readDer(der.sequence(...parts));

      assert.equal(rest.length, 0);
      assert.equal(sequence?.tag, 0x30);
      assert.deepEqual(
        readDer(sequence?.content ?? Buffer.alloc(0)).map(({ whole }) => whole),
        parts,
      );
    }),
  );
});

test("readDer() refuses bytes that are not DER with a RangeError and with no other error", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      try {
        const values = readDer(bytes);
        assert.deepEqual(Buffer.concat(values.map(({ whole }) => whole)), Buffer.from(bytes));
      } catch (error) {
        assert(error instanceof RangeError, String(error));
      }
    }),
  );
});

test("readDer() reads no more values than it may", () => {
  const values = Buffer.alloc(20);

  assert.equal(readDer(values, 10).length, 10);
  assert.throws(() => readDer(values, 9), RangeError);
});

test("readObjectId() gives back what der.objectId() wrote", () => {
  const number = fc.integer({ min: 0, max: 0x7fff_ffff });
  const id = fc.tuple(fc.integer({ min: 0, max: 2 }), fc.integer({ min: 0, max: 39 }), fc.array(number));

  fc.assert(
    fc.property(id, ([root, second, rest]) => {
      const text = [root, second, ...rest].join(".");
      const [value] = readDer(der.objectId(text));

      assert.equal(readObjectId(value?.content ?? Buffer.alloc(0)), text);
    }),
  );
});

test("der.integer() is never read as a negative number", () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1, maxLength: 40 }), (bytes) => {
      const [value] = readDer(der.integer(bytes));
      const hex = (part: Uint8Array): bigint => BigInt(`0x${Buffer.from(part).toString("hex")}`);

      assert(((value?.content[0] ?? 0xff) & 0x80) === 0);
      assert.equal(hex(value?.content ?? Buffer.alloc(1)), hex(bytes));
    }),
  );
});
