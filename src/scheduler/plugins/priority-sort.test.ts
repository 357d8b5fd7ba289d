import assert from "node:assert/strict";
import { test } from "node:test";
import { makePod } from "#testing/scheduling.ts";
import { prioritySort } from "./priority-sort.ts";

const queued = (priority: number | undefined, queuedAt: number) => ({
  pod: makePod("p", priority === undefined ? {} : { priority }),
  key: "p",
  queuedAt,
  attempts: 0,
  rejections: 0,
  errors: 0,
  rejectedBy: new Set<string>(),
});

const cases = [
  { name: "the higher priority first", a: queued(10, 2), b: queued(5, 1), first: true },
  { name: "the lower priority later", a: queued(5, 1), b: queued(10, 2), first: false },
  { name: "the one that came first among equals", a: queued(5, 1), b: queued(5, 2), first: true },
  { name: "no priority as 0", a: queued(undefined, 1), b: queued(0, 2), first: true },
  { name: "neither of two equal pods first", a: queued(5, 1), b: queued(5, 1), first: false },
];
for (const { name, a, b, first } of cases) {
  test(`PrioritySort puts ${name}`, () => assert.equal(prioritySort.queueSort?.(a, b), first));
}
