import assert from "node:assert/strict";
import { test } from "node:test";
import { field, message, nested, repeated, stringMap } from "./message.ts";

const Inner = message({ name: field(1, "string"), flag: field(2, "bool") });
const Everything = message({
  text: field(1, "string"),
  data: field(2, "bytes"),
  small: field(3, "int32"),
  count: field(4, "uint32"),
  large: field(5, "int64"),
  exact: field(6, "bigint"),
  ratio: field(7, "double"),
  inner: nested(8, Inner),
  inners: repeated(9, Inner),
  numbers: repeated(10, "int64"),
  words: repeated(11, "string"),
  labels: stringMap(16),
  unsigned: field(2000, "uint64"),
});

const full = {
  text: "grüße",
  data: new Uint8Array([0, 255]),
  small: -5,
  count: 4_000_000_000,
  large: -9_007_199_254_740_991,
  exact: -9_223_372_036_854_775_808n,
  ratio: 0.1,
  inner: { name: "x".repeat(300), flag: true },
  inners: [
    { name: "a", flag: false },
    { name: "", flag: true },
  ],
  numbers: [0, 1, -1, 1_700_000_000_000_000],
  words: ["", "b"],
  labels: { a: "1", b: "" },
  unsigned: 9_007_199_254_740_991,
};

test("decode() returns the message that was encoded", () => {
  const decoded = Everything.decode(Everything.encode(full));

  assert.deepEqual({ ...decoded, data: new Uint8Array(decoded.data) }, full);
});

test("a field that was not sent is zero, empty or undefined", () => {
  const decoded = Everything.decode(new Uint8Array(0));

  assert.equal(decoded.text, "");
  assert.equal(decoded.exact, 0n);
  assert.equal(decoded.inner, undefined);
  assert.deepEqual(decoded.inners, []);
  assert.deepEqual(decoded.labels, {});
  assert.equal(Everything.encode({ text: "", numbers: [], inner: undefined }).length, 0);
});

test("a nested message without fields is still sent", () => {
  const bytes = Everything.encode({ inner: {} });

  assert.deepEqual([...bytes], [0x42, 0]);
  assert.deepEqual(Everything.decode(bytes).inner, { name: "", flag: false });
});

test("the bytes are those of protobuf's own examples", () => {
  const Test1 = message({ a: field(1, "int32") });
  const Test4 = message({ f: repeated(6, "int32") });

  assert.deepEqual([...Test1.encode({ a: 150 })], [0x08, 0x96, 0x01]);
  assert.deepEqual([...Test4.encode({ f: [3, 270, 86942] })], [0x32, 6, 3, 0x8e, 2, 0x9e, 0xa7, 5]);
});

test("unknown fields are skipped, and lists may come packed or not", () => {
  const Small = message({ words: repeated(11, "string") });
  const Numbers = message({ n: repeated(1, "int32") });

  assert.deepEqual(Small.decode(Everything.encode(full)).words, full.words);
  assert.deepEqual(Numbers.decode(new Uint8Array([8, 1, 8, 2, 10, 2, 3, 4])).n, [1, 2, 3, 4]);
});

test("truncated and invalid bytes are refused", () => {
  const bytes = Everything.encode({ text: "hello" });

  assert.throws(() => Everything.decode(bytes.subarray(0, 3)), /unexpected EOF/);
  assert.throws(() => Everything.decode(new Uint8Array([0xa3, 0x06])), /illegal wireType 3/);
  assert.throws(() => Everything.decode(new Uint8Array(12).fill(255)), /integer overflow/);
});
