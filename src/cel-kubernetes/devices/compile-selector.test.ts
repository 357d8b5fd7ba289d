import assert from "node:assert/strict";
import { test } from "node:test";
import { compileSelector } from "./compile-selector.ts";

const accepted = [
  `device.driver == "gpu.example.com"`,
  `device.attributes["gpu.example.com"].model == "A100" && !device.allowMultipleAllocations`,
  `device.capacity["gpu.example.com"].memory.isGreaterThan(quantity("40Gi"))`,
  `device.attributes["gpu.example.com"].version.isGreaterThan(semver("1.2.3"))`,
  `cel.bind(gpu, device.attributes["gpu.example.com"], gpu.isNew && gpu.?slots.orValue(0) > 2)`,
  `device.attributes["gpu.example.com"].isNew`,
  `"gpu.example.com" in device.attributes`,
];
for (const source of accepted) {
  test(`compileSelector() accepts ${source}`, () => assert.equal(compileSelector(source).fault, undefined));
}

const refused: readonly [source: string, kind: string, message: RegExp][] = [
  ["device.driver", "invalid", /^must evaluate to bool or the unknown type, not string$/],
  ["device.model == ''", "invalid", /^compilation failed: ERROR: <input>:1:7: undefined field 'model'/],
  ["true &&", "invalid", /^compilation failed: ERROR: <input>:1:8: Syntax error/],
  [
    `device.attributes.all(a, device.attributes.all(b, device.attributes.all(c, device.attributes.all(d, a + b + c + d != ""))))`,
    "forbidden",
    /^too complex, exceeds cost limit$/,
  ],
];
for (const [source, kind, message] of refused) {
  test(`compileSelector() refuses ${source}`, () => {
    const { fault } = compileSelector(source);
    assert.equal(fault?.kind, kind);
    assert.match(fault.message, message);
  });
}
