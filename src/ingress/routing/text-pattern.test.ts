import assert from "node:assert/strict";
import { test } from "node:test";
import { compilePattern, PatternBudget } from "./text-pattern.ts";

const patternOf = (source: string) => {
  const pattern = compilePattern(source);
  assert(typeof pattern !== "string", String(pattern));
  return pattern;
};

test("a pattern matches the whole text", () => {
  const pattern = patternOf("/v[0-9]+/(a|b)");
  assert.deepEqual(
    ["/v1/a", "/v12/b", "/v1/ab", "x/v1/a", "/v1/a/"].map((text) => pattern.matches(text)),
    [true, true, false, false, false],
  );
  assert.equal(patternOf("a|b").matches("ab"), false);
});

for (const [what, source] of [
  ["a group that is not closed", "(a"],
  ["one that closes the group around it", "a)|(b"],
  ["a look-ahead", "(?=a)"],
  ["a reference", "(a)\\1"],
  ["one that is too large", "(a{50}){50}"],
] as const) {
  test(`compilePattern() refuses ${what}`, () => assert.equal(typeof compilePattern(source), "string"));
}

test("one request spends a bounded number of steps on patterns", () => {
  const budget = new PatternBudget();
  const pattern = patternOf("(a+)+b?");
  const text = "a".repeat(1_000);
  const answers = Array.from({ length: 1_000 }, () => budget.matches(pattern, text, "shop"));

  assert.equal(answers[0], true);
  assert.equal(answers.at(-1), false);
  assert(answers.filter(Boolean).length < 20);
  assert.equal(budget.matches(pattern, text, "other"), true, "another namespace has its own share");
  const others = Array.from({ length: 1_000 }, (_, n) => budget.matches(pattern, text, `n${n}`));
  assert(others.filter(Boolean).length < 40, "all together have a limit too");
});
