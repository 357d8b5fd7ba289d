import assert from "node:assert/strict";
import { test } from "node:test";
import { leaf } from "./field-set.ts";
import { pathOf, SetPath } from "./set-path.ts";

test("SetPath returns the same set for the same members", () => {
  const once = SetPath.start().with(".", leaf).with("f:a", leaf).with("f:b", leaf).set;

  const again = pathOf({ ".": {}, "f:a": leaf, "f:b": leaf });

  assert.notEqual(again.set, once, "another leaf is another member");
  assert.equal(pathOf({ ".": leaf, "f:a": leaf, "f:b": leaf }).set, once);
  assert.deepEqual(once, { ".": {}, "f:a": {}, "f:b": {} });
});

test("SetPath distinguishes sets by their members and the content of these", () => {
  const start = SetPath.start();

  const sets = [
    start.with("f:a", leaf).set,
    start.with("f:b", leaf).set,
    start.with("f:a", start.with("f:b", leaf).set).set,
    start.with("f:a", leaf).with("f:b", leaf).set,
  ];

  assert.equal(new Set(sets).size, sets.length);
});

test("SetPath finds each of several next members again, in any order", () => {
  const start = SetPath.start().with("f:several", leaf);
  const [a, b, c] = ["f:x", "f:y", "f:z"].map((element) => start.with(element, leaf));

  const again = ["f:y", "f:x", "f:z", "f:x"].map((element) => start.with(element, leaf));

  assert(again.every((path, at) => path === [b, a, c, a][at]));
});

test("SetPath starts over rather than grow without limit", () => {
  const before = SetPath.start();
  let path = before;
  for (let i = 0; i < 20_000; i++) path = before.with(`f:${i}`, leaf);

  assert.notEqual(SetPath.start(), before);
  assert.deepEqual(path.set, { "f:19999": {} });
});

test("SetPath keeps the beginning of a long set and not the rest", () => {
  const members = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`f:${String(i).padStart(4, "0")}`, leaf]));

  const [once, again] = [pathOf(members), pathOf(members)];

  assert.deepEqual(once.set, members);
  assert.notEqual(once, again);
  assert.notEqual(pathOf({ "f:a": once.set }), pathOf({ "f:a": once.set }), "nor what contains it");
});
