import assert from "node:assert/strict";
import { test } from "node:test";
import { keyElement, sortElements, valueElement } from "./path-element.ts";

const named = (...names: unknown[]) => names.map((name) => keyElement([["name", name]]));

const orders: { name: string; sorted: string[] }[] = [
  { name: "fields by name, after the node itself", sorted: [".", "f:a", "f:ab", "f:b"] },
  { name: "plain keys by their value", sorted: [".", ...named("", "a", "a-b", "a.b", "ab", "b")] },
  { name: "keys with characters before the quote", sorted: named("a", "a b", "a!", "a#", "ab") },
  { name: "keys with escapes", sorted: named("a", 'a"', "a\\", "a\u2028", "b") },
  { name: "numbers before texts", sorted: named(2, 10, "1", "10") },
  { name: "values", sorted: ["a", "a b", "ab"].map(valueElement) },
  { name: "fields, keys, values, indexes", sorted: ["f:z", ...named("a"), valueElement("a"), "i:2", "i:10"] },
];
for (const { name, sorted } of orders) {
  test(`sortElements(): ${name}`, () => {
    assert.deepEqual(sortElements(sorted.toReversed()), sorted);
    assert.deepEqual(sortElements([...sorted.slice(1), ...sorted.slice(0, 1)]), sorted);
  });
}
