import assert from "node:assert/strict";
import { test } from "node:test";
import { blockYaml } from "./block-yaml.ts";
import { parseYaml } from "./yaml.ts";

test("what is written as YAML reads as the same value", async () => {
  const values: readonly unknown[] = [
    null,
    "yes",
    { b: 1, a: { "y: n": ["x", { c: [] }, [1, [2]], {}], on: null }, "": "\n- x: |\t\u0000" },
    [{ name: "a", ports: [{ port: 80 }] }, "0x1f", true, 1.5],
  ];
  for (const value of values) assert.deepEqual((await parseYaml(blockYaml(value))).value, value);
  assert.equal(blockYaml({ b: [{ c: "d", e: 1 }], a: {} }), '"a": {}\n"b":\n  - "c": "d"\n    "e": 1\n');
});
