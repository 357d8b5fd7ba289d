import assert from "node:assert/strict";
import { test } from "node:test";
import { sortedJson } from "./json.ts";

test("sortedJson() writes equal values alike, whatever the order of their members", () => {
  const value = { b: [{ y: null, x: "ä\n" }, undefined], a: undefined, "": true, c: -0 };
  assert.equal(sortedJson(value), '{"":true,"b":[{"x":"ä\\n","y":null},null],"c":0}');
  assert.equal(sortedJson({ c: -0, "": true, b: [{ x: "ä\n", y: null }, null] }), sortedJson(value));
  assert.equal(
    sortedJson({ a: ["<"] }, (scalar) => JSON.stringify(scalar).replaceAll("<", "\\u003c")),
    '{"a":["\\u003c"]}',
  );
});
