import assert from "node:assert/strict";
import { test } from "node:test";
import { parseBoundedJson } from "./bounded-json.ts";

const parse = (text: string, maxValues: number): unknown => parseBoundedJson(Buffer.from(text), maxValues);

test("parseBoundedJson() refuses more values than the limit, wherever they are", () => {
  assert.deepEqual(parse('{"a":[1,2,{}],"b":"x"}', 6), { a: [1, 2, {}], b: "x" });
  for (const text of [`[${"{},".repeat(50)}{}]`, `{"a":[${"0,".repeat(99)}0]}`, "[".repeat(101), '{"a":'.repeat(101)]) {
    assert.throws(() => parse(text, 100), { name: "RangeError", message: "more than 100 values" });
  }
  assert.throws(() => parse("{", 100), SyntaxError);
});
