import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import { DecodeError, maxValues, TooManyValues } from "./decode-error.ts";
import { duplicateKeys, parseJson } from "./json.ts";

const faults: [string, string][] = [
  ["", "unexpected end of JSON input"],
  ['{"a"', "unexpected end of JSON input"],
  ["x", "invalid character 'x' looking for beginning of value"],
  ['{"a":}', "invalid character '}' looking for beginning of value"],
  ["{a:1}", "invalid character 'a' looking for beginning of object key string"],
  ['{"a" 1}', "invalid character '1' after object key"],
  ['{"a":1 "b"}', "invalid character '\"' after object key:value pair"],
  ['{"a":1,}', "invalid character '}' looking for beginning of object key string"],
  ["[1 2]", "invalid character '2' after array element"],
  ["[1,]", "invalid character ']' looking for beginning of value"],
  ["{} x", "invalid character 'x' after top-level value"],
  ["tru", "unexpected end of JSON input"],
  ["trux", "invalid character 'x' in literal true (expecting 'e')"],
  ['"\n"', "invalid character '\\n' in string literal"],
  ['"\\x"', "invalid character 'x' in string escape code"],
  ['"\\u00g0"', "invalid character 'g' in \\u hexadecimal character escape"],
  ["-x", "invalid character 'x' in numeric literal"],
  ["1.x", "invalid character 'x' after decimal point in numeric literal"],
  ["1ex", "invalid character 'x' in exponent of numeric literal"],
  ["01", "invalid character '1' after top-level value"],
];
for (const [text, message] of faults) {
  test(`parseJson() refuses ${JSON.stringify(text)} in Go's words`, () => {
    assert.throws(() => parseJson(Buffer.from(text)), { name: "DecodeError", message });
  });
}

test("parseJson() refuses invalid UTF-8 and excessive nesting", () => {
  const deep = "[".repeat(1001) + "]".repeat(1001);
  const wide = `[${'"[[[",{},'.repeat(5000)}1]`;

  assert.throws(() => parseJson(Buffer.from([0x22, 0xff, 0x22])), DecodeError);
  assert.throws(() => parseJson(Buffer.from(deep)), { message: "exceeded max depth" });
  assert.equal((parseJson(Buffer.from(wide)).value as unknown[]).length, 10_001);
});

test("parseJson() refuses keys that are too long to hash, but accepts long values", () => {
  const long = "x".repeat(8193);
  const quoted = `\\"\\\\`.repeat(3000);
  const parse = (text: string) => parseJson(Buffer.from(text)).value;

  for (const text of [`{"${long}":1}`, `{"a":[{"b":"c"},{"${long}"  : 1}]}`, `{"${quoted}":1}`]) {
    assert.throws(() => parse(text), { message: "a key is longer than 8192 characters" });
  }
  assert.deepEqual(parse(`{"a":"${long}","b":"\\\\","c":"${long}"}`), { a: long, b: "\\", c: long });
  assert.throws(() => parse(`{"a":"${long}`), DecodeError);
});

const duplicates: [string, number, string[]][] = [
  ['{"a":1,"b":{"a":2}}', 3, []],
  ['{"a":1,"a":2}', 1, ["a"]],
  ['{"a" : 1, "b":1, "b" :2}', 2, ["b"]],
  ['{"spec":{"c":[{"x":1},{"x":"\\":","x":2,"x":3}]}}', 5, ["spec.c[1].x"]],
  ['{"a":"x\\":y"}', 1, []],
  ['{"a":1,"\\u0061":2}', 1, ["a"]],
];
for (const [text, keys, expected] of duplicates) {
  test(`duplicateKeys() of ${text}`, () => assert.deepEqual(duplicateKeys(text, keys), expected));
}

test("duplicateKeys() shortens the paths of deep objects with long keys", () => {
  const open = `{"${"k".repeat(3000)}":`;
  const text = `${open.repeat(100)}{"a":1,"a":1,"b":1,"b":1}${"}".repeat(100)}`;

  const found = duplicateKeys(text, 0);

  assert.deepEqual(
    found.map(({ length }) => length),
    [1024],
  );
});

test("parseJson() refuses too many values, and does not count inside strings", () => {
  const parse = (text: string) => parseJson(Buffer.from(text)).value;
  const list = (count: number, item: string) => `[${Array(count).fill(item).join()}]`;

  assert.equal((parse(list(maxValues - 2, "1")) as unknown[]).length, maxValues - 2);
  assert.equal((parse(list(2, `"${",[{".repeat(maxValues)}\\",[{"`)) as unknown[]).length, 2);
  for (const item of ["1", "{}", "[]", '{"a":1}', '""']) {
    assert.throws(() => parse(list(maxValues + 1, item)), TooManyValues, item);
  }
});
