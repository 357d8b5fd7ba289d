import assert from "node:assert/strict";
import { test } from "node:test";
import { compileJsonPath } from "./json-path-values.ts";

const object = {
  metadata: { name: "a", labels: { "app.example/name": "web" } },
  spec: {
    list: [
      { name: "x", n: 1 },
      { name: "y", n: 2 },
    ],
    "with space": 3,
  },
  status: {
    conditions: [
      { type: "Ready", status: "True" },
      { type: "Other", status: "False" },
    ],
  },
};
const cases: Readonly<Record<string, readonly unknown[] | undefined>> = {
  ".metadata.name": ["a"],
  ".metadata.none": [],
  ".spec.list[0].name": ["x"],
  ".spec.list[-1].name": ["y"],
  ".spec.list[*].n": [1, 2],
  ".spec.list[0:1].n": [1],
  ".spec.list[0,1].n": [1, 2],
  ".spec['with space']": [3],
  ".metadata.labels['app.example/name']": ["web"],
  ".metadata.labels.app\\.example/name": ["web"],
  '.status.conditions[?(@.type=="Ready")].status': ["True"],
  ".status.conditions[?(@.type != 'Ready')].status": ["False"],
  ".spec.list[?(@.n > 1)].name": ["y"],
  ".spec..name": ["x", "y"],
  ".": [object],
  ".constructor": [],
  ".spec.list[": undefined,
  spec: undefined,
};
for (const [path, found] of Object.entries(cases)) {
  test(`compileJsonPath() reads ${path}`, () => {
    assert.deepEqual(compileJsonPath(path)?.valuesIn(object), found);
  });
}

test("compileJsonPath() looks at a limited number of values", () => {
  let deep: unknown = 1;
  for (let level = 0; level < 500; level++) deep = { a: deep, b: deep };

  const found = compileJsonPath("..a..b[*]..c")?.valuesIn(deep);

  assert.deepEqual(found, []);
});
