import assert from "node:assert/strict";
import { test } from "node:test";
import { equal } from "./equal.ts";
import { deepFreeze } from "./freeze.ts";

const cases: [unknown, unknown, boolean][] = [
  [1, 1, true],
  [1, "1", false],
  [null, {}, false],
  [{ a: 1, b: [1, { c: 2 }] }, { b: [1, { c: 2 }], a: 1 }, true],
  [{ a: 1 }, { a: 1, b: undefined }, true],
  [{ a: undefined, b: 1 }, { b: 1 }, true],
  [{ a: 1 }, { a: 1, b: 2 }, false],
  [{ a: undefined }, { b: undefined }, true],
  [{ a: 1, b: 2 }, { a: 1, c: 2 }, false],
  [[], {}, false],
  [[1, 2], [2, 1], false],
  [[1], [1, 2], false],
  [{}, { toString: 1 }, false],
  [{ toString: 1 }, {}, false],
];
for (const [a, b, expected] of cases) {
  test(`equal() of ${JSON.stringify(a)} and ${JSON.stringify(b)} is ${expected}`, () => {
    assert.equal(equal(a, b), expected);
    assert.equal(equal(b, a), expected);
  });
}

test("deepFreeze() freezes all the way down", () => {
  const value = deepFreeze({ list: [{ a: 1 }], map: { b: { c: 2 } } });

  assert(Object.isFrozen(value) && Object.isFrozen(value.list[0]) && Object.isFrozen(value.map.b));
});
