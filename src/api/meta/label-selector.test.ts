import assert from "node:assert/strict";
import { test } from "node:test";
import { faultsIn } from "../cursor.ts";
import { isStatus } from "../status.ts";
import {
  formatLabelSelector,
  matchesRequirements,
  parseLabelSelector,
  validateLabelSelector,
} from "./label-selector.ts";
import { matches } from "./selector-matchers.ts";

const labels = { app: "web", tier: "front", size: "10" };

const parsed = [
  { text: "", matches: true },
  { text: "app=web", matches: true },
  { text: "app==web,tier!=back", matches: true },
  { text: "app!=web", matches: false },
  { text: "missing!=x", matches: true },
  { text: "app in (web, api)", matches: true },
  { text: "app notin (web,api)", matches: false },
  { text: "missing notin (a)", matches: true },
  { text: "app", matches: true },
  { text: "!app", matches: false },
  { text: "!missing", matches: true },
  { text: "size>9", matches: true },
  { text: "size<10", matches: false },
  { text: "app>1", matches: false },
  { text: "app=", matches: false },
  { text: " app = web , tier ", matches: true },
  { text: "app in ()", matches: false },
  { text: "in in (a),x", matches: false },
];
for (const { text, matches } of parsed) {
  test(`the selector ${JSON.stringify(text)} ${matches ? "matches" : "does not match"}`, () => {
    assert.equal(matchesRequirements(parseLabelSelector(text), labels), matches);
  });
}

test("parseLabelSelector() sorts by key and drops repeated values", () => {
  assert.deepEqual(parseLabelSelector("b in (y,x,,x),a"), [
    { key: "a", operator: "exists", values: [] },
    { key: "b", operator: "in", values: ["", "x", "y"] },
  ]);
});

const malformed = [
  { text: "a,", message: "found '', expected: identifier after ','" },
  { text: "=a", message: "found '=', expected: !, identifier, or 'end of string'" },
  { text: "a b", message: "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt" },
  { text: "a in b", message: "unable to parse requirement: found 'b' expected: '('" },
  { text: "a in (b", message: "unable to parse requirement: found '', expected: ',' or ')'" },
  { text: "a=b=c", message: "found '=', expected: ',' or 'end of string'" },
  { text: "!a=b", message: "found '=', expected: ',' or 'end of string'" },
  { text: "!,", message: "unable to parse requirement: found ',', expected: identifier" },
  {
    text: "a>x",
    message:
      "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be an integer",
  },
];
for (const { text, message } of malformed) {
  test(`the selector ${JSON.stringify(text)} is refused`, () => {
    assert.throws(
      () => parseLabelSelector(text),
      (error) => isStatus(error, "BadRequest") && error.message === message,
    );
  });
}

test("a bad key or value is refused with the rule it breaks", () => {
  assert.throws(() => parseLabelSelector("-a=b"), {
    message: /^unable to parse requirement: <nil>: Invalid value: "-a": name part must consist of .*'\)$/,
  });
  assert.throws(() => parseLabelSelector("a=-b"), {
    message: /^unable to parse requirement: values\[0\]\[a\]: Invalid value: "-b": a valid label must be .*'\)$/,
  });
});

test("matches() finds nothing with an unknown operator, however many conditions there are", () => {
  const many = Array.from({ length: 20 }, (_, at) => ({ key: `none-${at}`, operator: "DoesNotExist" }));
  for (const operator of ["Like", "constructor", "toString"]) {
    assert.equal(matches({ matchExpressions: [...many, { key: "app", operator }] }, labels), false);
  }
});

test("matches() takes no selector for nothing and an empty one for everything", () => {
  assert.equal(matches(undefined, labels), false);
  assert.equal(matches({}, undefined), true);
  assert.equal(matches({ matchLabels: { app: "web" } }, labels), true);
  assert.equal(matches({ matchLabels: { toString: "x" } }, {}), false);
});

const expressions = [
  { key: "app", operator: "In", values: ["web"], matches: true },
  { key: "app", operator: "NotIn", values: ["web"], matches: false },
  { key: "none", operator: "NotIn", values: ["web"], matches: true },
  { key: "app", operator: "Exists", matches: true },
  { key: "app", operator: "DoesNotExist", matches: false },
  { key: "app", operator: "Like", values: ["web"], matches: false },
  { key: "app", operator: "constructor", values: ["web"], matches: false },
];
for (const { matches: expected, ...expression } of expressions) {
  test(`matches() decides ${expression.key} ${expression.operator}`, () => {
    assert.equal(matches({ matchExpressions: [expression] }, labels), expected);
  });
}

test("formatLabelSelector() writes what parseLabelSelector() reads", () => {
  const text = formatLabelSelector({
    matchLabels: { b: "1" },
    matchExpressions: [
      { key: "c", operator: "In", values: ["y", "x"] },
      { key: "a", operator: "DoesNotExist" },
    ],
  });

  assert.equal(text, "!a,b=1,c in (x,y)");
  assert.deepEqual(
    parseLabelSelector(text).map(({ key }) => key),
    ["a", "b", "c"],
  );
});

test("validateLabelSelector() reports every fault with its place", () => {
  const selector = {
    matchLabels: { ok: "-" },
    matchExpressions: [
      { key: "a", operator: "In" },
      { key: "a", operator: "Exists", values: ["x"] },
      { key: "a", operator: "Gt", values: ["1"] },
    ],
  };

  const faults = faultsIn(selector, (at) => validateLabelSelector(at.under("spec", "selector")));

  assert.deepEqual(
    faults.map(({ path, message }) => `${path}: ${message.slice(0, 60)}`),
    [
      'spec.selector.matchLabels: Invalid value: "-": a valid label must be an empty string or',
      "spec.selector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or",
      "spec.selector.matchExpressions[1].values: Forbidden: may not be specified when `operator` is 'Exists' ",
      'spec.selector.matchExpressions[2].operator: Invalid value: "Gt": not a valid selector operator',
    ],
  );
});
