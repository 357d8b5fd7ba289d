import assert from "node:assert/strict";
import { test } from "node:test";
import { type JsonSchema } from "#schema/json-schema.ts";
import { checkRules } from "./check-rules.ts";

const schemaWith = (rules: readonly string[]): JsonSchema => ({
  type: "object",
  properties: { text: { type: "string" } },
  "x-kubernetes-validations": rules.map((rule) => ({ rule })),
});
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
