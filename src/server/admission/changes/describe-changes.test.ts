import assert from "node:assert/strict";
import { test } from "node:test";
import { describeChanges } from "./describe-changes.ts";

const cases: readonly [name: string, before: unknown, after: unknown, changes: readonly string[]][] = [
  ["nothing", { a: 1 }, { a: 1 }, []],
  ["a value", { spec: { replicas: 2 } }, { spec: { replicas: 3 } }, ["spec.replicas: 2 → 3"]],
  [
    "a new and a missing member",
    { metadata: { labels: { a: "b" } } },
    { metadata: { labels: { "example.com/x": "y" } } },
    ['metadata.labels.a: removed "b"', 'metadata.labels["example.com/x"]: added "y"'],
  ],
  [
    "an item with a name",
    { containers: [{ name: "web", image: "a" }] },
    {
      containers: [
        { name: "proxy", image: "p", env: [] },
        { name: "web", image: "b" },
      ],
    },
    ['containers[web].image: "a" → "b"', 'containers[proxy]: added {name: "proxy", image: "p", env}'],
  ],
  ["a list without names", { args: ["a"] }, { args: ["a", "b"] }, ["args: a list of 1 → a list of 2"]],
];
for (const [name, before, after, changes] of cases) {
  test(`describeChanges() finds ${name}`, () => assert.deepEqual(describeChanges(before, after), changes));
}

test("describeChanges() shows only so much", () => {
  const after = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`k${index}`, "x".repeat(100)]));

  const changes = describeChanges({}, after);

  assert.equal(changes.length, 9);
  assert.equal(changes.at(-1), "and more");
  assert(changes.every((change) => change.length < 200));
});
