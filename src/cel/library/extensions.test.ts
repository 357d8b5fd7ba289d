import assert from "node:assert/strict";
import { test } from "node:test";
import { patternSize } from "#lib/pattern/pattern-size.ts";
import { compile } from "../compile.ts";
import { Environment } from "../declare/environment.ts";
import { specifiedClauses } from "./format.ts";
import { listLibrary } from "./lists.ts";
import { bindingLibrary, optionalLibrary } from "./optionals.ts";
import { literalLibrary, patternLibrary } from "./patterns.ts";
import { setLibrary } from "./sets.ts";
import { standardLibrary } from "./standard.ts";
import { createStringLibrary } from "./strings.ts";

const environment = new Environment({
  libraries: [
    standardLibrary,
    patternLibrary,
    literalLibrary,
    optionalLibrary,
    bindingLibrary,
    createStringLibrary(specifiedClauses),
    listLibrary,
    setLibrary,
  ],
});

function run(source: string) {
  const compiled = compile(environment, source);
  return compiled.program
    ? compiled.program.evaluate(new Map(), 1_000_000)
    : { error: compiled.message, cost: 0, work: 0 };
}

const holds = [
  "[3, 1, 2].sort() == [1, 2, 3]",
  "['b', 'a'].sort() == ['a', 'b']",
  "[{'n': 2}, {'n': 1}].sortBy(x, x.n) == [{'n': 1}, {'n': 2}]",
  "[1, 2, 3, 4].slice(1, 3) == [2, 3]",
  "[1, [2, [3]]].flatten(2) == [1, 2, 3]",
  "[1, 2, 1, 2u, 'a', 'a'].distinct() == [1, 2, 'a']",
  "lists.range(3) == [0, 1, 2]",
  "[1, 2].reverse() == [2, 1]",
  "sets.contains([1, 2, 3], [2, 1])",
  "!sets.contains([1], [1, 2])",
  "sets.equivalent([1, 1, 2], [2, 1])",
  "sets.intersects([1, 2], [2, 3])",
  "!sets.intersects([[1]], [[2]])",
  "cel.bind(x, 2, x * x) == 4",
  "'äöü'.substring(1, 2) == 'ö'",
  "'a😀b'.indexOf('b') == 2",
  "'a😀b'.charAt(1) == '😀'",
  "'hello'.replace('l', 'L', 1) == 'heLlo'",
  "'ab'.replace('', '-') == '-a-b-'",
  "'a,b,c'.split(',', 2) == ['a', 'b,c']",
  "'  \\u00a0x '.trim() == 'x'",
  "'%s is %d of %.2f'.format(['x', 1, 2.005]) == 'x is 1 of 2.00'",
  "strings.quote('a\\n\"') == '\"a\\\\n\\\\\"\"'",
  "'foo123'.matches('^[a-z]+[0-9]{3}$')",
];

for (const source of holds) {
  test(`${source} is true`, () => {
    assert.deepEqual(run(source).error, undefined);
    assert.equal(run(source).value, true);
  });
}

test("a literal that would always fail is refused", () => {
  for (const [source, message] of [
    ["'a'.matches('[')", "1:13: invalid matches argument"],
    ["duration('1x')", "1:10: invalid duration argument"],
    ["timestamp('yesterday')", "1:11: invalid timestamp argument"],
  ] as const) {
    assert.match(String(run(source).error), new RegExp(`ERROR: <input>:${message}`));
  }
});

test("patternSize() multiplies what is repeated", () => {
  assert.equal(patternSize("abc"), 3);
  assert(patternSize("(a{100}){9}") >= 900);
  assert(patternSize("[a-z]{1000}[0-9]{1000}") >= 2000);
  assert(patternSize("\\d{5}") < 20);
  assert(patternSize("[".repeat(10_000)) < 20);
});
