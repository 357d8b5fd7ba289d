import assert from "node:assert/strict";
import { test } from "node:test";
import { nearest } from "./nearest.ts";

const names = ["replicaset-controller", "statefulset-controller", "job-controller"];
const cases: readonly [string, string | undefined][] = [
  ["replicasets-controller", "replicaset-controller"],
  ["job-contoller", "job-controller"],
  ["xyz", undefined],
  ["", undefined],
  ["r".repeat(100_000), undefined],
];
for (const [typed, name] of cases) {
  test(`nearest() finds ${name ?? "nothing"} for ${typed.slice(0, 30)}`, () =>
    assert.equal(nearest(typed, names), name));
}
