import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import { Reader, Writer } from "#lib/proto/protobuf-wire.ts";
import { decode } from "#schema/json/decode.ts";
import { DecodeError } from "#schema/json/decode-error.ts";
import { inline, nullable, optional } from "../fields.ts";
import { object, type Schema } from "../schema.ts";
import {
  any,
  boolean,
  bytes,
  double,
  duration,
  either,
  int32,
  int64,
  intOrString,
  lazy,
  list,
  map,
  microTime,
  quantity,
  string,
  time,
} from "../types.ts";
import { encodeProtobuf } from "./protobuf.ts";
import { decodeProtobuf } from "./protobuf-decode.ts";
import { decodeEnvelope, encodeEnvelope, encodeListEnvelope, encodeWatchFrame } from "./protobuf-envelope.ts";

const Inner = object("x/v1.Inner", "", { name: optional(1, string(), ""), ratio: optional(20, double(), "") });
const Every = object("x/v1.Every", "", {
  kind: optional(0, string(), ""),
  text: optional(1, string(), ""),
  small: nullable(2, int32(), ""),
  large: nullable(3, int64(), ""),
  flag: nullable(4, boolean(), ""),
  data: optional(5, bytes(), ""),
  when: nullable(6, time(), ""),
  micro: nullable(7, microTime(), ""),
  wait: nullable(8, duration(), ""),
  amounts: optional(9, map(quantity()), ""),
  port: nullable(10, intOrString(), ""),
  other: nullable(11, any(), ""),
  inners: optional(12, list(Inner), ""),
  numbers: optional(13, list(int32()), ""),
  extra: optional(14, map(list(string())), ""),
  ...inline(200, { secret: nullable(1, Inner, ""), path: optional(2, string(), "") }),
});

const full = {
  text: "grüße, 世界 🌍 and a text that is a good deal longer than fifty characters",
  small: -5,
  large: 9_007_199_254_740_991,
  flag: false,
  data: "aGVsbG8=",
  when: "1969-12-31T23:59:58Z",
  micro: "2024-01-02T03:04:05.678901Z",
  wait: "-1h30m0.5s",
  amounts: { cpu: "100m", memory: "1Gi" },
  port: "http",
  other: { a: [1, null, { b: "c" }] },
  inners: [{ name: "a", ratio: 1.5 }, {}, { name: "ä" }],
  numbers: [1, -1, 2_147_483_647, 0],
  extra: { scopes: ["a", "b"] },
  secret: { name: "s" },
  path: "/x",
};

test("fields that are flat in JSON can be in a message within a message", () => {
  const rule = { groups: optional(1, list(string()), "") };
  const operations = { verbs: optional(1, list(string()), ""), ...inline(2, rule) };
  const Named = object("x/v1.Named", "", { names: optional(1, list(string()), ""), ...inline(2, operations) });
  const value = { names: ["n"], verbs: ["v"], groups: ["g"] };

  const bytes = encodeProtobuf(Named, value);

  assert.equal(Buffer.from(bytes).toString("hex"), "0a016e" + "1208" + "0a0176" + "1203" + "0a0167");
  assert.deepEqual(decodeProtobuf(Named, bytes), value);
});

test("decoding a message returns the JSON value it was made from", () => {
  const raw = decodeProtobuf(Every, encodeProtobuf(Every, full));

  assert.deepEqual(decode(Every, raw, { defaults: false }).value, full);
});

test("encodeProtobuf() writes the bytes that Go writes", () => {
  const hex = (value: object) => Buffer.from(encodeProtobuf(Every, value)).toString("hex");

  assert.equal(hex({ text: "hi", small: -1 }), "0a02686910ffffffffffffffffff01c20c00");
  assert.equal(hex({ port: 80 }), "5206080010501a00c20c00");
  assert.equal(hex({ when: "1970-01-01T00:00:01Z" }), "320408011000c20c00");
  assert.equal(hex({ path: "/x" }), "c20c041202" + "2f78");
  assert.equal(hex({ extra: { a: ["b"] } }), "720" + "80a016112030a0162c20c00");
});

test("decodeProtobuf() accepts packed lists, skips unknown fields and reads empty messages as zero", () => {
  const read = (hex: string) => decodeProtobuf(Every, Buffer.from(hex, "hex"));

  assert.deepEqual(read("6a03010203"), { numbers: [1, 2, 3] });
  assert.deepEqual(read("f23f02ffff0a0161"), { text: "a" });
  assert.deepEqual(read("3200"), { when: undefined });
  assert.deepEqual(read("5200"), { port: 0 });
  assert.deepEqual(read("4a030a0161"), { amounts: { a: null } });
});

test("decodeProtobuf() refuses malformed bytes with a DecodeError and with no other error", () => {
  const sound = encodeProtobuf(Every, full);
  let seed = 1;
  const random = (below: number) => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % below;
  };
  for (let round = 0; round < 20_000; round++) {
    const bytes = Buffer.from(sound.subarray(0, 1 + random(sound.length)));
    for (let change = random(4); change >= 0; change--) bytes[random(bytes.length)] = random(256);
    try {
      decodeProtobuf(Every, bytes);
    } catch (error) {
      assert(error instanceof DecodeError, String(error));
    }
  }
});

test("each of two types has its own field", () => {
  const Or = object("x/v1.Or", "", {
    flag: optional(1, either("x/v1.OrBool", [2, Inner], [1, boolean()]), ""),
    list: optional(2, either("x/v1.OrStrings", [1, Inner], [2, list(string())]), ""),
  });
  const hex = (value: object) => Buffer.from(encodeProtobuf(Or, value)).toString("hex");

  assert.equal(hex({ flag: { name: "a" }, list: ["b"] }), "0a07080112030a016112031201" + "62");
  for (const value of [
    { flag: true, list: { name: "x" } },
    { flag: false },
    { flag: { name: "a" }, list: ["b", "c"] },
  ]) {
    const raw = decodeProtobuf(Or, encodeProtobuf(Or, value));

    assert.deepEqual(decode(Or, raw, { defaults: false }).value, value);
  }
  assert.throws(() => decode(Or, { flag: "x" }, { defaults: false }), {
    message: "json: cannot unmarshal string into Go struct field Or.flag of type bool",
  });
});

test("decodeProtobuf() refuses excessive nesting", () => {
  interface Tree {
    child?: Tree;
  }
  const Tree: Schema<Tree> = object("x/v1.Tree", "", {
    child: nullable(
      1,
      lazy(() => Tree),
      "",
    ),
  });
  let deep: Buffer = Buffer.alloc(0);
  for (let level = 0; level < 300; level++) {
    const length = new Writer();
    length.uint32(deep.length);
    deep = Buffer.concat([Buffer.from([0x0a]), length.finish(), deep]);
  }

  assert.throws(() => decodeProtobuf(Tree, deep), DecodeError);
});

test("an envelope describes its content", () => {
  const body = encodeEnvelope("apps/v1", "Deployment", Buffer.from("abc"));

  assert.equal(body.subarray(0, 4).toString(), Buffer.from("k8s\0").toString());
  const { apiVersion, kind, raw } = decodeEnvelope(body);
  assert.deepEqual([apiVersion, kind, Buffer.from(raw).toString()], ["apps/v1", "Deployment", "abc"]);
  assert.throws(() => decodeEnvelope(Buffer.from("{}")), DecodeError);
  assert.throws(() => decodeEnvelope(Buffer.from("k8s\0\x0a\x7f")), DecodeError);
});

test("a list is assembled from the bytes of its items", () => {
  const List = object("x/v1.List", "", { metadata: optional(1, Inner, ""), items: optional(2, list(Inner), "") });
  const items = [{ name: "a" }, { name: "b".repeat(300) }];
  const metadata = encodeProtobuf(Inner, { name: "m" });

  const body = encodeListEnvelope(
    "v1",
    "InnerList",
    metadata,
    items.map((item) => encodeProtobuf(Inner, item)),
  );

  const { kind, raw } = decodeEnvelope(body);
  assert.equal(kind, "InnerList");
  assert.deepEqual(decodeProtobuf(List, raw), { metadata: { name: "m" }, items });
});

test("a watch event is framed with its length", () => {
  const frame = Buffer.from(encodeWatchFrame("ADDED", Buffer.alloc(200, 7)));

  assert.equal(frame.readUInt32BE(), frame.length - 4);
  const reader = new Reader(frame.subarray(4));
  assert.equal(reader.key(), 0x0a);
  assert.equal(reader.string(), "ADDED");
  assert.equal(reader.key(), 0x12);
  const outer = reader.enter();
  assert.equal(reader.key(), 0x0a);
  assert.deepEqual(reader.bytes(), Buffer.alloc(200, 7));
  reader.leave(outer);
  assert(reader.done);
});

test("integers of every size are written and read exactly", () => {
  const numbers = [
    0,
    1,
    127,
    128,
    16_383,
    16_384,
    2 ** 31,
    2 ** 32 - 1,
    2 ** 32,
    2 ** 35,
    2 ** 42,
    2 ** 49,
    2 ** 53 - 1,
  ];
  const writer = new Writer();
  for (const number of [...numbers, ...numbers.map((n) => -n)]) {
    writer.int(number);

    assert.equal(new Reader(writer.finish()).int(), number === 0 ? 0 : number);
  }
  for (const value of [0n, -1n, 2n ** 63n - 1n, -(2n ** 63n), 123_456_789_012_345_678n]) {
    writer.bigint(value);

    assert.equal(new Reader(writer.finish()).bigint(), value);
  }
});
