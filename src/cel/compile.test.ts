import assert from "node:assert/strict";
import { test } from "node:test";
import { compile } from "./compile.ts";
import { Environment } from "./declare/environment.ts";
import { standardLibrary } from "./library/standard.ts";
import { twoVariableLibrary } from "./library/two-variables.ts";
import { dynType, intType, listType, stringType, structType, type Type } from "./types/type.ts";
import { valueFor } from "./values/data.ts";

const spec: Type = structType("Spec", {
  field: (name) =>
    new Map([
      ["replicas", { type: intType }],
      ["names", { type: listType(stringType) }],
      ["my__dash__field", { type: stringType, dataName: "my-field" }],
    ]).get(name),
});
const environment = new Environment({
  libraries: [standardLibrary, twoVariableLibrary],
  variables: { self: spec, any: dynType },
});
const data = { replicas: 3, names: ["a", "bb"], "my-field": "x" };

function run(source: string, limit = 1_000_000) {
  const compiled = compile(environment, source);
  assert(compiled.program, compiled.program ? "" : compiled.message);
  const values = { self: valueFor(spec, data), any: valueFor(dynType, data) };
  return compiled.program.evaluate({ get: (name) => values[name as keyof typeof values] }, limit);
}

function issuesOf(source: string): string {
  const compiled = compile(environment, source);
  assert(!compiled.program, `${source} has no issues`);
  return compiled.message;
}

test("an expression reads the fields of declared data", () => {
  assert.equal(run("self.replicas >= 3 && self.names.all(n, n.size() < 3)").value, true);
  assert.equal(run("self.my__dash__field + any['my-field']").value, "xx");
  assert.equal(run("has(self.replicas) && !has(any.missing)").value, true);
});

test("an expression with a wrong name or type is refused at its place", () => {
  assert.equal(
    issuesOf("self.replicas > x"),
    "ERROR: <input>:1:17: undeclared reference to 'x' (in container '')\n | self.replicas > x\n | ................^",
  );
  assert.match(issuesOf("self.missing"), /1:5: undefined field 'missing'/);
  assert.match(issuesOf("self.replicas + 'a'"), /found no matching overload for '_\+_' applied to '\(int, string\)'/);
  assert.match(issuesOf(""), /^ERROR: <input>:1:0: Syntax error: mismatched input '<EOF>' expecting [^\n]*$/);
  assert.match(issuesOf("self.replicas."), /Syntax error: mismatched input '<EOF>' expecting IDENTIFIER/);
});

test("an evaluation says what it cost, and stops at its limit", () => {
  assert.equal(run("self.replicas >= 3").cost, 3);
  assert.equal(run("self.names.exists(n, n == 'bb')").cost, 15);
  const outcome = run("[1, 2, 3].all(a, [1, 2, 3].all(b, a != b + 5))", 20);
  assert.equal(outcome.error, "operation cancelled: actual cost limit exceeded");
});

test("comparing data that is nested too deeply is an error", () => {
  let deep: unknown = 1;
  for (let depth = 0; depth < 100_000; depth++) deep = [deep];
  const compiled = compile(environment, "any == any.map(x, x)");
  const value = valueFor(dynType, deep);
  assert.equal(
    compiled.program?.evaluate({ get: () => value }, 10_000_000).error,
    "operation cancelled: value is nested too deeply",
  );
});

test("an error is absorbed by a term that decides", () => {
  assert.equal(run("any.missing == 1 || true").value, true);
  assert.equal(run("any.missing == 1 || false").error, "no such key: missing");
});

test("a loop may have a variable for the place and one for the value", () => {
  assert.equal(run("['a', 'b'].transformMap(i, v, v + string(i))[1] == 'b1'").value, true);
  assert.equal(run("{'a': 1}.transformMapEntry(k, v, {v: k}) == {1: 'a'}").value, true);
  assert.equal(run("{'a': 1, 'b': 1}.transformMapEntry(k, v, {v: k})").error, "insert failed: key 1 already exists");
});

test("the issues of an expression that repeats its mistake stay short", () => {
  const message = issuesOf(`${"y||".repeat(5000)}y`);

  assert(message.length < 40_000, `${message.length} characters`);
  assert.match(message, /^ERROR: <input>:1:1: undeclared reference to 'y' .*\n \| y\|\|y/);
  assert.match(message, /\n4999 more errors were truncated$/);
});
