import assert from "node:assert/strict";
import { test } from "node:test";
import { string } from "#schema/types.ts";
import { type Cursor, faultsIn, warningsIn } from "./cursor.ts";
import { dns1123Label } from "./meta/names.ts";

interface Box {
  name?: string;
  size: number;
  lid?: { color: string };
  tags?: string[];
  notes?: Record<string, string>;
}

const judge = (box: Box, visit: (at: Cursor<Box>) => void): string[] =>
  faultsIn(box, visit).map(({ path, message }) => `${path}: ${message}`);

test("a cursor names the place of a fault", () => {
  const faults = judge({ size: 1, lid: { color: "red" }, tags: ["a", "b"], notes: { k: "v" } }, (at) => {
    at.invalid("as a whole", "it");
    at.on("lid", (at) => at.field("color").forbidden("no colors"));
    at.each("tags", (at, index) => index === 1 && at.invalid("second"));
    at.eachKey("notes", (at, key) => at.invalid(key));
    at.under("Size", "unit").missing();
  });

  assert.deepEqual(faults, [
    ': Invalid value: "it": as a whole',
    "lid.color: Forbidden: no colors",
    'tags[1]: Invalid value: "b": second',
    'notes[k]: Invalid value: "v": k',
    "Size.unit: Required value",
  ]);
});

test("what is absent is not visited, and breaks no rule but that it is required", () => {
  const visited: string[] = [];

  const faults = judge({ size: 0 }, (at) => {
    at.on("lid", () => visited.push("lid"));
    at.each("tags", () => visited.push("tags"));
    at.eachKey("notes", () => visited.push("notes"));
    at.field("name").rule(dns1123Label);
    assert.equal(at.set("name"), undefined);
    assert.equal(at.set("size"), undefined);
    assert.equal(at.field("name").required(), false);
  });

  assert.deepEqual(visited, []);
  assert.deepEqual(faults, ["name: Required value"]);
});

test("a cursor says what is repeated, unknown, too small or changed", () => {
  const faults = judge({ name: "a", size: -1, tags: ["x", "x"] }, (at) => {
    const seen = new Set<string>();
    at.each("tags", (at) => at.unique(seen));
    at.field("name").oneOf(["b", "c"]);
    at.field("name").invalid(undefined);
    at.field("size").atLeast(0);
    at.field("name").immutable(string(), "before");
    assert.equal(at.faultCount, 4);
  });

  assert.deepEqual(faults, [
    'tags[1]: Duplicate value: "x"',
    'name: Unsupported value: "a": supported values: "b", "c"',
    "size: Invalid value: -1: must be greater than or equal to 0",
    'name: Invalid value: "a": field is immutable',
  ]);
});

test("a warning has the path in front, unless it is a note", () => {
  const warnings = warningsIn({ a: 1 }, (at) => {
    at.field("a").warn("unusual");
    at.note("in general");
  });

  assert.deepEqual(warnings, ["a: unusual", "in general"]);
});

test("only so many warnings are kept, and the texts of others are not made", () => {
  let made = 0;

  const warnings = warningsIn(undefined, (at) => {
    for (let index = 0; index < 1000; index++) at.warn(() => `warning ${made++}`);
  });

  assert.deepEqual([warnings.length, made], [200, 200]);
});

test("faults that show long values are kept until they are long enough together", () => {
  const faults = judge({ size: 1, name: "a".repeat(400_000) }, (at) => {
    for (let index = 0; index < 100; index++) at.field("name").invalid("too long");
  });

  assert.equal(faults.length, 3);
});

test("exactlyOne() visits the first field that is set, and reports the others or that there is none", () => {
  const names = ["lid", "tags", "notes"] as const;
  const visited: string[] = [];
  const visit = (at: Cursor<Box>): void => at.exactlyOne(names, "box", (name) => visited.push(name));

  const faults = [
    judge({ size: 1, tags: [] }, visit),
    judge({ size: 1, notes: {}, tags: [] }, visit),
    judge({ size: 1 }, visit),
  ];

  assert.deepEqual(visited, ["tags", "tags"]);
  assert.deepEqual(faults, [
    [],
    ["notes: Forbidden: may not specify more than 1 box type"],
    [": Required value: must specify a box type"],
  ]);
});

test("a Cursor tells when it keeps no further faults", () => {
  let seen = 0;
  const items = Array.from({ length: 1000 }, (_, index) => index);

  const faults = faultsIn({ items }, (at) =>
    at.each("items", (item) => {
      if (item.isFull) return;
      seen++;
      item.invalid("is a number");
    }),
  );

  assert.deepEqual([seen, faults.length], [200, 200]);
});
