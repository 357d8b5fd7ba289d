import assert from "node:assert/strict";
import { test } from "node:test";
import { SparseMap } from "./sparse-map.ts";

test("SparseMap is a map, also after it was empty", () => {
  const map = new SparseMap<string, number>();
  assert.deepEqual(
    [map.size, map.has("a"), map.get("a"), map.delete("a"), [...map.values()]],
    [0, false, undefined, false, []],
  );

  for (let round = 0; round < 2; round++) {
    map.set("a", 1).set("b", 2).set("a", 3);
    const seen: unknown[] = [];
    map.forEach((value, key) => void seen.push(key, value));
    assert.deepEqual(
      [map.size, [...map], [...map.keys()], seen],
      [
        2,
        [
          ["a", 3],
          ["b", 2],
        ],
        ["a", "b"],
        ["a", 3, "b", 2],
      ],
    );
    assert.deepEqual([map.delete("a"), map.delete("a"), map.delete("b")], [true, false, true]);
    assert.deepEqual([map.size, [...map.entries()]], [0, []]);
  }

  map.set("a", 1).clear();
  assert.deepEqual([map.size, map.get("a")], [0, undefined]);
});
