import assert from "node:assert/strict";
import { test } from "node:test";
import { type Program } from "#cel/compile.ts";
import { Slice } from "#lib/async/turns.ts";
import { Stage } from "../../expressions/stage.ts";
import { refusalOf, setUpPolicies } from "./policies.suite.ts";

/** Costs a little less than one expression may. */
const dear =
  "[0,1,2,3,4,5,6,7,8,9].all(a, [0,1,2,3,4,5,6,7,8,9].all(b, [0,1,2,3,4,5,6,7,8,9].all(c, [0,1,2,3,4,5,6,7,8,9].all(d, [0,1,2,3].all(e, a + b + c + d + e >= 0)))))";
const outOfBudget = "validation failed due to running out of cost budget, no further validation rules will be run";

test("all validations of a policy share a budget", async () => {
  const validations = Array.from({ length: 20 }, () => ({ expression: dear }));

  assert.equal(await refusalOf({ validations }), outOfBudget);
  assert.equal(await refusalOf({ validations, failurePolicy: "Ignore" }), undefined);
  assert.equal(await refusalOf({ validations: validations.slice(0, 5) }), undefined);
});

test("variables count, each once", async () => {
  const variables = Array.from({ length: 20 }, (_, index) => ({ name: `v${index}`, expression: dear }));
  const all = (count: number) => variables.slice(0, count).map(({ name }) => `variables.${name}`);
  const policy = (expression: string) => ({ variables, validations: [{ expression }] });

  assert.equal(await refusalOf(policy(all(20).join(" && "))), outOfBudget);
  assert.equal(await refusalOf(policy([...all(3), ...all(3), ...all(3), ...all(3)].join(" && "))), undefined);
});

test("other work runs between the variables of one expression", async () => {
  const variables = Array.from({ length: 8 }, (_, index) => ({
    name: `v${index}`,
    expression: index === 0 ? dear : `${dear} && variables.v${index - 1}`,
  }));
  let turns = 0;
  const other = setInterval(() => turns++, 0);
  const refusal = await refusalOf({ variables, validations: [{ expression: "variables.v7" }] });
  clearInterval(other);

  assert.equal(refusal, undefined);
  assert(turns >= 2, `other work had ${turns} turns`);
});

test("match conditions have a smaller budget", async () => {
  const matchConditions = Array.from({ length: 10 }, (_, index) => ({ name: `c${index}`, expression: dear }));

  assert.equal(await refusalOf({ matchConditions, validations: [{ expression: "false" }] }), outOfBudget);
});

test("messages that cost too much fail the validations", async () => {
  const messageExpression = `${dear} ? 'a' : 'b'`;
  const validations = Array.from({ length: 20 }, () => ({ expression: "true", messageExpression }));

  assert.equal(await refusalOf({ validations }), `failed messageExpression: ${outOfBudget}`);
});

test("a request that is given up is not checked any further", async () => {
  const { put, bind, ask } = setUpPolicies();
  put({ validations: [{ expression: "true" }] });
  bind();

  const { error } = await ask({ signal: AbortSignal.abort() });

  assert.equal(error?.name, "AbortError");
});

test("names of variables and fields cannot reach a prototype", async () => {
  for (const expression of [
    "has(object.constructor)",
    "has(object.metadata.labels.toString)",
    "'__proto__' in object",
  ]) {
    assert.equal(await refusalOf({ validations: [{ expression }] }), `failed expression: ${expression}`);
  }
  const unknown = await refusalOf({ validations: [{ expression: "variables.constructor == 1" }] });
  assert.match(String(unknown), /undefined field 'constructor'/);
  const request = await refusalOf({ validations: [{ expression: "request.toString == ''" }] });
  assert.match(String(request), /undefined field 'toString'/);
});

test("work that costs do not see is limited for all expressions together", async () => {
  const program = { evaluate: () => ({ value: true, cost: 1, work: 1_000_000 }) } as unknown as Program;
  const stage = new Stage({ values: new Map(), budget: 10_000_000, slice: new Slice() });
  const evaluate = () => stage.evaluate({ source: "", program });

  for (let index = 0; index < 10; index++) assert.deepEqual(await evaluate(), { value: true });
  await assert.rejects(evaluate, { name: "OutOfBudget" });
});
