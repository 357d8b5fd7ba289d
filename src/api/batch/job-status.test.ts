import assert from "node:assert/strict";
import { test } from "node:test";
import { statusFaultsOf } from "../faults.suite.ts";
import { commonIndex, countIndexes } from "./completion-indexes.ts";
import { Job } from "./job.ts";

const template = { spec: { restartPolicy: "Never", containers: [{ name: "a", image: "a" }] } };
const selector = { matchLabels: { app: "a" } };
const metadata = { name: "sum", namespace: "default", uid: "1" };
const indexed = { completionMode: "Indexed", completions: 5, parallelism: 2, backoffLimitPerIndex: 1 };
const isTrue = (...types: string[]) => types.map((type) => ({ type, status: "True" }));
const startTime = "2026-01-01T00:00:00Z";
const completionTime = "2026-01-01T00:01:00Z";
const complete = { startTime, completionTime, conditions: isTrue("SuccessCriteriaMet", "Complete") };

interface Case {
  readonly name: string;
  readonly spec?: object;
  readonly old?: object;
  readonly status: object;
  readonly faults: readonly string[];
}
const cases: readonly Case[] = [
  { name: "can be complete", status: complete, faults: [] },
  {
    name: "can have failed",
    status: { startTime, failed: 1, conditions: isTrue("FailureTarget", "Failed") },
    faults: [],
  },
  {
    name: "has no negative counts",
    status: { active: -1, ready: -2 },
    faults: [
      "status.active: Invalid value: -1: must be greater than or equal to 0",
      "status.ready: Invalid value: -2: must be greater than or equal to 0",
    ],
  },
  {
    name: "counts a pod once",
    status: { uncountedTerminatedPods: { succeeded: ["a", ""], failed: ["a"] } },
    faults: [
      'status.uncountedTerminatedPods.succeeded[1]: Invalid value: "": must not be empty',
      'status.uncountedTerminatedPods.failed[0]: Duplicate value: "a"',
    ],
  },
  {
    name: "ends in one way",
    status: { ...complete, conditions: isTrue("SuccessCriteriaMet", "Complete", "FailureTarget", "Failed") },
    faults: [
      "cannot set Complete=True and Failed=true conditions",
      "cannot set Complete=True and FailureTarget=true conditions",
      "cannot set SuccessCriteriaMet=True and Failed=true conditions",
      "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions",
    ].map((text) => `status.conditions: Invalid value: ${text}`),
  },
  {
    name: "has a reason to end",
    status: { startTime, completionTime, conditions: isTrue("Complete") },
    faults: [
      "status.conditions: Invalid value: cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
    ],
  },
  {
    name: "has a reason to fail",
    status: { startTime, conditions: isTrue("Failed") },
    faults: [
      "status.conditions: Invalid value: cannot set Failed=True condition without the FailureTarget=true condition",
    ],
  },
  {
    name: "has a time of completion if it is complete",
    status: { startTime, conditions: complete.conditions },
    faults: ["status.completionTime: Required value: completionTime is required for Complete jobs"],
  },
  {
    name: "has no time of completion if it is not complete",
    status: { startTime, completionTime },
    faults: [
      `status.completionTime: Invalid value: "${completionTime}": cannot set completionTime when there is no Complete=True condition`,
    ],
  },
  {
    name: "is complete after it was started",
    status: { ...complete, startTime: "2026-01-02T00:00:00Z" },
    faults: [`status.completionTime: Invalid value: "${completionTime}": must be equal to or after \`startTime\``],
  },
  {
    name: "has nothing left to do when it is finished",
    status: {
      completionTime,
      conditions: complete.conditions,
      active: 1,
      terminating: 1,
      uncountedTerminatedPods: { failed: ["a"] },
    },
    faults: [
      "status.active: Invalid value: 1: active>0 is invalid for finished job",
      "status.startTime: Required value: startTime is required for finished job",
      'status.uncountedTerminatedPods: Invalid value: {"failed":["a"]}: must be empty for finished job',
      "status.terminating: Invalid value: 1: terminating>0 is invalid for finished job",
    ],
  },
  {
    name: "has no more ready pods than active ones",
    status: { active: 1, ready: 2 },
    faults: ["status.ready: Invalid value: 2: cannot set more ready pods than active"],
  },
  {
    name: "has indexes that can be read",
    spec: indexed,
    status: { completedIndexes: "3,1", failedIndexes: "x" },
    faults: [
      'status.completedIndexes: Invalid value: "3,1": error parsing completedIndexes: non-increasing order, previous: 3, current: 1',
      'status.failedIndexes: Invalid value: "x": error parsing failedIndexes: cannot convert string to integer for index: "x"',
    ],
  },
  {
    name: "has no index that both failed and succeeded",
    spec: indexed,
    status: { completedIndexes: "0-2", failedIndexes: "2,4" },
    faults: ['status.failedIndexes: Invalid value: "2,4": failedIndexes and completedIndexes overlap at index: 2'],
  },
  {
    name: "has indexes only if it is indexed",
    spec: { completions: 5 },
    status: { completedIndexes: "1", failedIndexes: "" },
    faults: [
      'status.completedIndexes: Invalid value: "1": cannot set non-empty completedIndexes when non-indexed completion mode',
      'status.failedIndexes: Invalid value: "": cannot set non-null failedIndexes when backoffLimitPerIndex is null',
    ],
  },
  {
    name: "does not run again after its end",
    old: { ...complete, failed: 2, succeeded: 2 },
    status: { failed: 1, succeeded: 1 },
    faults: [
      "status.conditions: Invalid value: cannot disable the terminal Complete=True condition",
      "status.failed: Invalid value: 1: cannot decrease the failed counter",
      "status.succeeded: Invalid value: 1: cannot decrease the succeeded counter",
      "status.startTime: Invalid value: null: field is immutable for unsuspended job once set",
      "status.conditions: Invalid value: cannot disable the SuccessCriteriaMet=True condition",
    ],
  },
  {
    name: "keeps the time of its completion",
    old: complete,
    status: { ...complete, completionTime: "2026-01-01T00:02:00Z" },
    faults: ['status.completionTime: Invalid value: "2026-01-01T00:02:00Z": field is immutable'],
  },
  {
    name: "starts again when it is resumed",
    old: { startTime, conditions: isTrue("Suspended") },
    status: { startTime: completionTime, conditions: [{ type: "Suspended", status: "False" }] },
    faults: [],
  },
  {
    name: "with a fault from before can still be changed",
    old: { startTime, conditions: isTrue("Failed"), active: 1 },
    status: { startTime, conditions: isTrue("Failed"), active: 1, failed: 1 },
    faults: [],
  },
];
for (const { name, spec, old, status, faults } of cases) {
  test(`a Job ${name}`, () => {
    const job = { metadata, spec: { template, selector, ...spec } };

    assert.deepEqual(statusFaultsOf(Job, { ...job, status }, { ...job, status: old }), faults);
  });
}

const texts: readonly [text: string, expected: object][] = [
  ["", { total: 0 }],
  ["1,3-5,7", { total: 5 }],
  ["+1-+3", { total: 3 }],
  ["++1", { total: 0, fault: 'cannot convert string to integer for index: "++1"' }],
  ["-1", { total: 0, fault: 'cannot convert string to integer for index: ""' }],
  ["1,", { total: 0, fault: 'cannot convert string to integer for index: ""' }],
  ["1-2-3", { total: 0, fault: twoParts("1-2-3") }],
  ["4-4", { total: 0, fault: "non-increasing order, previous: 4, current: 4" }],
  ["1-3,3", { total: 0, fault: "non-increasing order, previous: 3, current: 3" }],
  ["10", { total: 0, fault: 'too large index: "10"' }],
  ["99999999999999999999", { total: 0, fault: 'cannot convert string to integer for index: "99999999999999999999"' }],
];
function twoParts(text: string): string {
  return `the fragment "${text}" violates the requirement that an index interval can have at most two parts separated by '-'`;
}
for (const [text, expected] of texts) {
  test(`the indexes "${text}" are counted`, () => assert.deepEqual(countIndexes(text, 10), expected));
}

test("an index that two lists have in common is found", () => {
  assert.equal(commonIndex("0-2,5", "3-4,+5-6", 10), 5);
  assert.equal(commonIndex("0-2,5", "x,5", 10), undefined);
  assert.equal(commonIndex("0-2,5", "3-4,6", 10), undefined);
  assert.equal(commonIndex("", "3", 10), undefined);
});
