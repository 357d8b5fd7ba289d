import assert from "node:assert/strict";
import { test } from "node:test";
import { type ResourceAttributes } from "#api/authorization/attributes.ts";
import { selectorsOf } from "./review-selectors.ts";

const where = "spec.resourceAttributes";
const cases: readonly [name: string, asked: ResourceAttributes, read: ReturnType<typeof selectorsOf>][] = [
  ["reads none", {}, { faults: [] }],
  ["reads raw text", { fieldSelector: { rawSelector: "a=b" } }, { fieldSelector: "a=b", faults: [] }],
  [
    "ignores raw text that cannot be parsed",
    { labelSelector: { rawSelector: "a in (" } },
    { faults: [`${where}.labelSelector ignored due to parse error`] },
  ],
  [
    "keeps the conditions that it can express",
    {
      fieldSelector: {
        requirements: [
          { key: "spec.nodeName", operator: "In", values: ["a,b"] },
          { key: "x", operator: "Exists" },
          { key: "y", operator: "NotIn", values: ["a", "b"] },
        ],
      },
    },
    { fieldSelector: "spec.nodeName=a\\,b", faults: [`${where}.fieldSelector partially ignored due to parse error`] },
  ],
  [
    "says that every condition was dropped",
    {
      fieldSelector: { requirements: [{ key: "a", operator: "Not_Valid!" }] },
      labelSelector: { requirements: [{ key: "a,b=c", operator: "Exists" }] },
    },
    {
      faults: [
        `${where}.fieldSelector ignored due to parse error`,
        `${where}.labelSelector ignored due to parse error`,
      ],
    },
  ],
  [
    "reads conditions on labels",
    {
      labelSelector: {
        requirements: [
          { key: "app", operator: "In", values: ["a"] },
          { key: "tier", operator: "DoesNotExist" },
        ],
      },
    },
    { labelSelector: "app in (a),!tier", faults: [] },
  ],
];
for (const [name, asked, read] of cases) {
  test(`selectorsOf() ${name}`, () => assert.deepEqual(selectorsOf(asked), read));
}
