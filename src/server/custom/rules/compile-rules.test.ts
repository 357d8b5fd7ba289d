import assert from "node:assert/strict";
import { test } from "node:test";
import { type JsonSchema } from "#schema/json-schema.ts";
import { compileAhead, rulesInSteps, rulesOf } from "./compile-rules.ts";

const rules = Array.from({ length: 50 }, (_, index) => ({ rule: `self.size > ${index}` }));
const ruled: JsonSchema = {
  type: "object",
  properties: { size: { type: "integer" } },
  "x-kubernetes-validations": rules,
};

const stepsOf = (steps: Iterable<unknown>): number => [...steps].length;

test("compileAhead() takes a step for each rule of a schema and of those below it, once", () => {
  const schema: JsonSchema = { type: "object", properties: { a: ruled, b: { type: "array", items: { ...ruled } } } };

  assert.equal(stepsOf(compileAhead(schema, true)), 100);
  assert.equal(stepsOf(compileAhead(schema, true)), 0);
  assert.equal(rulesOf(ruled, false), rulesOf(ruled, false));
  assert.equal(stepsOf(rulesInSteps(ruled, false)), 0, "a check compiles nothing");
});
