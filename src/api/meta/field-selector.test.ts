import assert from "node:assert/strict";
import { test } from "node:test";
import { escapeFieldValue, matchesFields, parseFieldSelector, requiredField } from "./field-selector.ts";

const fields: Readonly<Record<string, string>> = { "metadata.name": "a", "spec.nodeName": "", odd: "x,y=z\\" };
const cases = [
  { text: "", matches: true },
  { text: "metadata.name=a", matches: true },
  { text: "metadata.name==a,spec.nodeName=", matches: true },
  { text: "metadata.name!=a", matches: false },
  { text: "unknown=", matches: true },
  { text: "odd=x\\,y\\=z\\\\", matches: true },
];
for (const { text, matches } of cases) {
  test(`the field selector ${JSON.stringify(text)} ${matches ? "matches" : "does not match"}`, () => {
    assert.equal(
      matchesFields(parseFieldSelector(text), (path) => fields[path]),
      matches,
    );
  });
}

const malformed = [
  { text: "a", message: "invalid selector: 'a'; can't understand 'a'" },
  { text: "a=b=c", message: "invalid field selector: unescaped character in value: 61" },
  { text: "a=\\b", message: "invalid field selector: invalid escape sequence: \\b" },
  { text: "a=b\\", message: "invalid field selector: invalid escape sequence: \\" },
];
for (const { text, message } of malformed) {
  test(`the field selector ${JSON.stringify(text)} is refused`, () => {
    assert.throws(() => parseFieldSelector(text), { message });
  });
}

test("a value survives being written and read", () => {
  const terms = parseFieldSelector(`a=${escapeFieldValue("x,y=\\")},b!=1`);

  assert.equal(requiredField(terms, "a"), "x,y=\\");
  assert.equal(requiredField(terms, "b"), undefined);
});
