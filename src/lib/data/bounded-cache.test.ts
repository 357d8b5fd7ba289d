import assert from "node:assert/strict";
import { test } from "node:test";
import { BoundedCache, ownText } from "./bounded-cache.ts";

test("BoundedCache forgets the oldest when there are too many", () => {
  const cache = new BoundedCache<number>({ entries: 2, chars: 100, keyChars: 10 });

  for (const [value, key] of ["a", "b", "c"].entries()) cache.set(key, value);

  assert.deepEqual([cache.get("a"), cache.get("b"), cache.get("c")], [undefined, 1, 2]);
});

test("BoundedCache limits the characters of keys and values, however it is filled", () => {
  const cache = new BoundedCache<number>({ entries: 1000, chars: 50, keyChars: 20 });

  for (let at = 0; at < 500; at++) {
    cache.set(`key ${at % 40}`, at, at % 60);
    assert(cache.chars <= 50);
  }

  const before = cache.chars;
  cache.set("one more", 1, 10);
  cache.delete("one more");
  assert(cache.chars <= before);
  assert(cache.size > 0);
});

test("BoundedCache makes room for several entries at once, and always keeps the newest", () => {
  const many = new BoundedCache<number>({ entries: 80, chars: 10_000, keyChars: 10 });
  const sizes = new Set<number>();
  for (let at = 0; at < 400; at++) {
    many.set(`key ${at}`, at);
    assert.equal(many.get(`key ${at}`), at);
    if (at >= 80) sizes.add(many.size);
  }
  const large = new BoundedCache<number>({ entries: 80, chars: 50, keyChars: 10 });
  for (const key of ["a", "b"]) large.set(key, 1, 49);

  // One pass over the entries for every ten that are added.
  assert.deepEqual([...sizes].sort(), [70, 71, 72, 73, 74, 75, 76, 77, 78, 79, 80]);
  assert.deepEqual([large.get("a"), large.get("b")], [undefined, 1]);
});

test("BoundedCache does not keep a key that is too long", () => {
  const cache = new BoundedCache<number>({ entries: 10, chars: 1000, keyChars: 20 });

  cache.set("x".repeat(21), 1);

  assert.equal(cache.size, 0);
});

test("ownText() is the same text, or its beginning", () => {
  assert.equal(ownText("grüße 🎉"), "grüße 🎉");
  assert.equal(ownText("abcdef", 3), "abc");
  assert.equal(ownText(""), "");
});
