import assert from "node:assert/strict";
import { test } from "node:test";
import { atOnce } from "#lib/async/turns.ts";
import { type JsonSchema } from "#schema/json-schema.ts";
import { checkRules as rulesInSteps } from "./check-rules.ts";

const schemaWith = (rules: readonly string[]): JsonSchema => ({
  type: "object",
  properties: { text: { type: "string" } },
  "x-kubernetes-validations": rules.map((rule) => ({ rule })),
});
const checkRules = (schema: JsonSchema, value: unknown) => atOnce(rulesInSteps(schema, value));
const texts = (faults: ReturnType<typeof checkRules>): string[] => faults.map(({ message }) => message);

test("checkRules() lets the rules of an object share what patterns may take", () => {
  const rules = Array.from({ length: 100 }, (_, n) => `!self.text.matches('[ab]*a[ab]{${50 + n}}[^ab]')`);
  const value = { text: "abbaab".repeat(500) };
  assert.deepEqual(checkRules(schemaWith(rules.slice(0, 5)), value), []);
  assert.match(texts(checkRules(schemaWith(rules), value)).join(), /^Invalid value: .*running out of cost budget/);
});

test("checkRules() says which rule was stopped", () => {
  const faults = checkRules(schemaWith(["!self.text.matches('[ab]*a[ab]{50}[^ab]')"]), { text: "ab".repeat(50_000) });
  assert.match(texts(faults).join(), /call cost exceeds limit for rule: !self.text.matches/);
});

test("checkRules() has a step after each rule that takes long, and none between short ones", () => {
  const stepsOf = (rule: string): number => {
    const steps = rulesInSteps(schemaWith(Array.from({ length: 8 }, () => rule)), { text: "a".repeat(1000) });
    let count = 0;
    for (const _ of steps) count++;
    return count;
  };
  assert.equal(stepsOf("self.text.size() > 0"), 0);
  const list = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]";
  assert.equal(
    stepsOf(`${list}.all(a, ${list}.all(b, ${list}.all(c, ${list}.all(d, ${list}.size() > a - b - c - d))))`),
    8,
  );
});

test("checkRules() compares a list that is the same as before once, not for each of its items", () => {
  let reads = 0;
  const itemOf = (text: string) => ({
    get text() {
      reads++;
      return text;
    },
  });
  const listOf = () => ({ list: Array.from({ length: 500 }, (_, index) => itemOf(`a${index}`)) });
  const items = schemaWith(["self.text == 'x'"]);
  const schema: JsonSchema = { type: "object", properties: { list: { type: "array", items } } };

  assert.deepEqual(atOnce(rulesInSteps(schema, listOf(), { old: listOf() })), []);
  assert(reads < 20_000, `${reads} reads`);
});
