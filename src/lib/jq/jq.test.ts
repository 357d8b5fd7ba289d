import assert from "node:assert/strict";
import { test } from "node:test";
import { compileJq, JqError, JqFault, type Json } from "./jq.ts";

const pod: Json = {
  metadata: { name: "web", labels: { app: "web", "a.b/c": "x" }, ownerReferences: [{ kind: "Job" }, { kind: "Set" }] },
  spec: { containers: [{ name: "a", ports: [80, 81] }, { name: "b" }], replicas: 3 },
  status: {
    conditions: [
      { type: "Ready", status: "True" },
      { type: "Initialized", status: "False" },
    ],
  },
};

const cases: readonly (readonly [source: string, values: readonly Json[]])[] = [
  [".", [pod]],
  [".metadata.name", ["web"]],
  ['.metadata.labels["a.b/c"]', ["x"]],
  ['.metadata.labels."a.b/c"', ["x"]],
  ['."metadata".name', ["web"]],
  [".nope.deeper[0].still", [null]],
  [".metadata.ownerReferences.[].kind", ["Job", "Set"]],
  [".metadata.ownerReferences[].kind", ["Job", "Set"]],
  ['.status.conditions.[] | select( .type == "Ready" ) | .status', ["True"]],
  ['.status.conditions[] | select(.type == "Ready" and .status != "True")', []],
  ['.status.conditions | map(select(.status == "False")) | .[0].type', ["Initialized"]],
  [".spec.containers[-1].name", ["b"]],
  [".spec.containers[1:][0].name", ["b"]],
  [".spec.containers[0].ports[:1]", [[80]]],
  [".spec.containers[7]", [null]],
  [".spec.containers | length", [2]],
  ['.spec.containers | map(.name) | join("+")', ["a+b"]],
  ['.metadata.annotations.x // "none"', ["none"]],
  ["(.spec.replicas + 2) * 3 - 1", [14]],
  ["7 % 4, 8 / 2", [3, 4]],
  [".spec.replicas > 2, .spec.replicas <= 2", [true, false]],
  ["[.spec.containers[].name]", [["a", "b"]]],
  ['if .spec.replicas == 3 then "three" elif true then "other" else null end', ["three"]],
  [".metadata.name[]?", []],
  [".spec.replicas.x?", []],
  ['.metadata | has("name"), has("nope")', [true, false]],
  ['.spec.containers | any(.name == "a"), all(.name == "a")', [true, false]],
  [".metadata.labels | keys", [["a.b/c", "app"]]],
  ['.metadata.name | startswith("w"), endswith("x")', [true, false]],
  ['"a,b" | split(",")', [["a", "b"]]],
  ["[3, 1, 2] | sort, min, max, add, reverse", [[1, 2, 3], 1, 3, 6, [2, 1, 3]]],
  ["first(.spec.containers[].name), last(.spec.containers[].name)", ["a", "b"]],
  ['"17" | tonumber + 1', [18]],
  ['"Aä" | ascii_downcase, ascii_upcase', ["aä", "Aä"]],
  ["-3, (.spec.replicas | -.)", [-3, -3]],
  ["empty", []],
  ["null, true, false # a comment", [null, true, false]],
  [".metadata | contains(. )", [true]],
  ["[1, [2]] < [1, [3]]", [true]],
  [".status | to_entries | map(.key)", [["conditions"]]],
];

test("an expression of jq gives the values that jq gives", () => {
  for (const [source, values] of cases) assert.deepEqual(compileJq(source).run(pod), values, source);
});

test("what is not supported is refused with its place", () => {
  const faults: readonly (readonly [source: string, message: RegExp])[] = [
    [".metadata.name // error_free", /calls "error_free" at character 19, which is not supported/],
    ['any(.a[]; .name == "a")', /calls any at character 1 with 2 parameters, not 1 or 0/],
    ["{a: 1}", /uses "\{" at character 1, which is not supported/],
    [". as $x | $x", /unexpected "as" at character 3/],
    ["$x", /uses "\$" at character 1/],
    ["..", /uses "\.\." at character 1/],
    [".a |= 3", /uses "\|=" at character 4/],
    ["def f: 1; f", /uses "def" at character 1/],
    ['"a\\(.b)"', /uses \\\( … \) within a text at character 1/],
    ["@base64", /uses "@" at character 1/],
    [".a[", /ends too early/],
    ["(.a", /needs "\)" at character 4/],
    [".a b", /unexpected "b" at character 4/],
    ["", /ends too early/],
    ["select()", /unexpected "\)" at character 8/],
    ["not(1)", /calls not at character 1 with 1 parameters, not 0/],
    ["_negate(1)", /calls "_negate" at character 1, which is not supported/],
    ["constructor", /calls "constructor" at character 1, which is not supported/],
    [".a ~ .b", /cannot be read from character 4 on/],
    [`${"(".repeat(1000)}1${")".repeat(1000)}`, /nested too deeply/],
    [`1${"+1".repeat(2500)}`, /is too large/],
    [" ".repeat(10_001), /longer than 10000 characters/],
  ];
  for (const [source, message] of faults) {
    assert.throws(
      () => compileJq(source),
      (error) => error instanceof JqError && message.test(error.message),
      source,
    );
  }
});

test("a wrong type is a fault, and so is too much work", () => {
  assert.throws(() => compileJq(".metadata.name.x").run(pod), JqFault);
  assert.throws(() => compileJq(".metadata.name[]").run(pod), /cannot iterate over string/);
  assert.throws(() => compileJq("1 / 0").run(null), /divide by zero/);
  const product = `[${Array.from({ length: 30 }, () => 1).join(",")}]`;
  const much = Array.from({ length: 4 }, () => `${product} | .[]`).join(" | ");
  assert.throws(() => compileJq(much).run(null), /takes too many steps/);
  assert.throws(() => compileJq(`(${much})?`).run(null), /takes too many steps/, "`?` does not hide it");
  const doubling = Array.from({ length: 40 }, () => ". + .").join(" | ");
  assert.throws(() => compileJq(`"x" | ${doubling}`).run(null), /takes too many steps/);
});

test("what a function reads is counted before it reads it", () => {
  const shared = `1${" | [., .]".repeat(40)}`;
  for (const use of [". == .", "tostring", "sort", "unique", "contains(.)"]) {
    assert.throws(() => compileJq(`${shared} | ${use}`).run(null), /reads too much/, use);
  }
  const texts = Array.from({ length: 5_000 }, (_, n) => `text ${n}`);
  assert.throws(() => compileJq(".a - .a").run({ a: texts }), /reads too much/);
  const upcases = Array.from({ length: 300 }, () => "(.a | ascii_upcase | length)").join(" + ");
  assert.throws(() => compileJq(upcases).run({ a: "x".repeat(1_000_000) }), /reads too much/);
  assert.throws(() => compileJq("tonumber").run(`${"1".repeat(100_000)}x`), /is not a number/);
});

test("members of prototypes are not found", () => {
  assert.deepEqual(compileJq(".constructor, .__proto__, .a.length").run({ a: null }), [null, null, null]);
  assert.deepEqual(compileJq('has("toString")').run({}), [false]);
});
