import assert from "node:assert/strict";
import { test } from "node:test";
import { compile } from "#cel/compile.ts";
import { perCallLimit } from "./environment.ts";
import { environment, refused, slow, stopped, variables } from "./hostile.suite.ts";

for (const [name, source] of Object.entries({ ...stopped, ...slow })) {
  test(`${name}: the evaluation stops at its cost limit`, () => {
    const compiled = compile(environment, source);
    assert(compiled.program, compiled.program ? "" : compiled.message);
    const outcome = compiled.program.evaluate(variables, perCallLimit);
    assert.equal(outcome.error, "operation cancelled: actual cost limit exceeded");
  });
}

for (const [name, [source, message]] of Object.entries(refused)) {
  test(`${name}: the expression is refused`, () => {
    const compiled = compile(environment, source);
    assert.match(compiled.program ? "" : compiled.message, message);
  });
}

test("a chain of 5,000 terms compiles and runs", () => {
  const compiled = compile(environment, `true${" && true".repeat(5000)}`);
  assert.equal(compiled.program?.evaluate(variables, perCallLimit).value, true);
});
