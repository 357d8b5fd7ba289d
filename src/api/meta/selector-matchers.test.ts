import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type FieldTerm, matchesFields } from "./field-selector.ts";
import { matchesRequirements, type Operator, parseLabelSelector, type Requirement } from "./label-selector.ts";
import { fieldMatcher, labelMatcher, matches } from "./selector-matchers.ts";

const many = Array.from({ length: 1500 }, (_, i) => i.toString(36));

/** Counts how often something is looked up in the labels. */
function counted(labels: Readonly<Record<string, string>>) {
  const count = { lookups: 0 };
  const counting = new Proxy(labels, {
    get: (target, key) => {
      count.lookups++;
      return Reflect.get(target, key);
    },
    getOwnPropertyDescriptor: (target, key) => {
      count.lookups++;
      return Reflect.getOwnPropertyDescriptor(target, key);
    },
  });
  return { labels: counting, count };
}

for (const [what, text] of [
  ["labels that must not be there", many.map((key) => `!x${key}`).join(",")],
  [
    "values that one label must not have",
    many
      .slice(0, 900)
      .map((value) => `app!=${value}`)
      .join(","),
  ],
] as const) {
  test(`many ${what} cost no more than the labels of the object`, () => {
    const { labels, count } = counted({ app: "front-end", tier: "web" });

    const isMatch = labelMatcher(parseLabelSelector(text))(labels);

    assert.equal(isMatch, true);
    assert(count.lookups <= 10, `${count.lookups} lookups`);
  });
}

test("many terms about one field read it once", () => {
  const terms = many.map((value): FieldTerm => ({ path: "metadata.name", operator: "!=", value }));
  let reads = 0;
  const isMatch = fieldMatcher(terms)(() => {
    reads++;
    return "a-name";
  });

  assert.deepEqual({ isMatch, reads }, { isMatch: true, reads: 1 });
});

const key = fc.constantFrom("a", "b", "c");
const text = fc.constantFrom("", "1", "2", "3", "x", "-5");
const plain = fc.constantFrom<Operator>("=", "==", "!=", "in", "notin", "exists", "!");
const requirement: fc.Arbitrary<Requirement> = fc.oneof(
  fc.record({ key, operator: plain, values: fc.uniqueArray(text) }),
  fc.record({ key, operator: fc.constantFrom<Operator>("gt", "lt"), values: fc.constantFrom(["0"], ["2"], ["-9"]) }),
);
const twenty = Array.from({ length: 20 }, (): Requirement => ({ key: "z", operator: "!", values: [] }));

test("labelMatcher() and fieldMatcher() decide as comparing one by one does", () => {
  const labels = fc.dictionary(key, text);
  fc.assert(
    fc.property(fc.array(requirement, { maxLength: 4 }), labels, (some, labels) => {
      assert.equal(labelMatcher([...some, ...twenty])(labels), matchesRequirements(some, labels));
    }),
    { numRuns: 500 },
  );
  const term = fc.record({ path: key, operator: fc.constantFrom("=" as const, "!=" as const), value: text });
  const padding = Array.from({ length: 20 }, (): FieldTerm => ({ path: "z", operator: "!=", value: "no" }));
  fc.assert(
    fc.property(fc.array(term, { maxLength: 4 }), labels, (some, fields) => {
      const read = (path: string) => fields[path];
      assert.equal(fieldMatcher([...some, ...padding])(read), matchesFields(some, read));
    }),
    { numRuns: 500 },
  );
});

test("matches() reads a long selector once, however many objects it meets", () => {
  let reads = 0;
  const condition = (n: number) => ({
    operator: "DoesNotExist",
    get key() {
      reads++;
      return `k${n}`;
    },
  });
  const selector = { matchExpressions: Array.from({ length: 1000 }, (_, n) => condition(n)) };
  for (let n = 0; n < 100; n++) assert.equal(matches(selector, { app: "web" }), true);
  assert.equal(matches(selector, { k999: "" }), false);
  assert.equal(reads, 1000);
});
