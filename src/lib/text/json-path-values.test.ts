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

test("compileJsonPath() compiles paths in time that grows with their length", () => {
  const filter = `.a[?(a${" ".repeat(4000)}a)]`;
  const quotes = `.a[${"'\\".repeat(1900)},1]`;

  // Minutes, if each blank were tried as the end of the left side.
  for (let n = 0; n < 3000; n++) for (const path of [filter, quotes]) compileJsonPath(path);
  assert.equal(compileJsonPath(quotes), undefined);
});

test("compileJsonPath() takes parts of a long list without copying it", () => {
  let reads = 0;
  const list = new Proxy(
    Array.from({ length: 10_000 }, (_, index) => index),
    {
      get: (target, name) => {
        reads++;
        return Reflect.get(target, name) as unknown;
      },
    },
  );
  const slices = Array.from({ length: 200 }, () => "0:99999:99999").join(",");

  assert.equal(compileJsonPath(`.a[${slices}]`)?.valuesIn({ a: list }).length, 200);
  assert.deepEqual(compileJsonPath(".a[-2:]")?.valuesIn({ a: list }), [9998, 9999]);
  assert.deepEqual(compileJsonPath(".a[1:4:2]")?.valuesIn({ a: list }), [1, 3]);
  assert(reads < 5000, `${reads} reads`);
});

test("compileJsonPath() lets several paths share what they may look at", () => {
  const path = compileJsonPath("..missing");
  const budget = { left: 100 };

  path?.valuesIn({ a: Array.from({ length: 1000 }, () => 1) }, budget);

  assert.equal(budget.left, 0);
  assert.deepEqual(path?.valuesIn({ missing: 1 }, budget), []);
});
