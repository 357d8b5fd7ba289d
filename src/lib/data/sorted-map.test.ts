import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { seededRandom } from "./random.ts";
import { SortedMap } from "./sorted-map.ts";

const keysOf = (map: SortedMap<number>, prefix = "", after?: string): string[] => {
  const keys: string[] = [];
  map.scan(prefix, after, (_, key) => keys.push(key) > 0);
  return keys;
};

suite("SortedMap", () => {
  test("agrees with a sorted array through inserts, deletes, scans and counts", () => {
    const random = seededRandom(7);
    const map = new SortedMap<number>();
    const model = new Map<string, number>();
    const pick = () => `/${Math.floor(random() * 30)}/${Math.floor(random() * 400)}`;

    for (let step = 0; step < 30_000; step++) {
      const key = pick();
      // Phases that grow and phases that shrink, so that chunks split and join.
      if (random() < (Math.floor(step / 5000) % 2 === 0 ? 0.8 : 0.2)) {
        map.set(key, step);
        model.set(key, step);
      } else {
        assert.equal(map.delete(key), model.delete(key));
      }
      if (step % 500 > 0) continue;
      const prefix = `/${Math.floor(random() * 30)}`;
      const after = random() < 0.5 ? pick() : undefined;
      const expected = [...model.keys()].sort().filter((k) => k.startsWith(prefix) && (!after || k > after));
      assert.deepEqual(keysOf(map, prefix, after), expected);
      assert.equal(map.count(prefix, after), expected.length);
    }

    assert.equal(map.size, model.size);
    assert.deepEqual(keysOf(map), [...model.keys()].sort());
    for (const [key, value] of model) assert.equal(map.get(key), value);
  });

  test("takes keys in rising order into full chunks", () => {
    const map = new SortedMap<number>();
    for (let n = 0; n < 5000; n++) map.set(String(n).padStart(6, "0"), n);

    assert.equal(map.count("0010"), 100);
    assert.equal(map.count("", "004998"), 1);
  });

  test("a map filled in bulk equals one filled entry by entry", () => {
    const keys = Array.from({ length: 3000 }, (_, n) => `/${(n * 7919) % 3000}`);
    const filled = new SortedMap<number>();
    filled.fill(keys.map((key, n) => [key, n]));
    filled.set("/x", 1);

    assert.equal(filled.size, 3001);
    assert.deepEqual(keysOf(filled), [...keys, "/x"].sort());
    assert.equal(filled.get("/0"), 0);
    assert.equal(filled.count("/1"), keys.filter((key) => key.startsWith("/1")).length);
  });

  test("sorts by the bytes of UTF-8 where UTF-16 would not", () => {
    const map = new SortedMap<number>();
    const keys = ["/z", "/\u{1f600}", "/\uff5e", "/é"];
    for (const [n, key] of keys.entries()) map.set(key, n);

    const byBytes = keys.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    assert.deepEqual(keysOf(map), byBytes);
    assert.equal(map.get("/\u{1f600}"), 1);
    assert.equal(map.count("/", "/\uff5e"), 1);
  });

  test("is empty after the last key is gone", () => {
    const map = new SortedMap<number>();
    map.set("a", 1);

    assert.equal(map.delete("a"), true);
    assert.equal(map.delete("a"), false);
    assert.equal(map.count(""), 0);
    assert.deepEqual(keysOf(map), []);
  });
});
