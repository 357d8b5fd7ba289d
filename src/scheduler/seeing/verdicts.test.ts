import assert from "node:assert/strict";
import { test } from "node:test";
import { type Rejections } from "../explain.ts";
import { type Attempt, renderVerdicts, Verdicts } from "./verdicts.ts";

const rejectionsOf = (count: number): Rejections =>
  new Map(
    Array.from({ length: count }, (_, at) => {
      return [`n${at}`, { plugin: "NodeResourcesFit", reasons: ["Insufficient cpu"], isFinal: false }];
    }),
  );
const attemptOf = (attempt: number, count = 0): Attempt => ({
  at: attempt * 1000,
  attempt,
  node: undefined,
  score: 0,
  evaluated: count,
  feasible: 0,
  rejections: rejectionsOf(count),
  message: "no",
});

test("verdicts keep the last three attempts of a pod, oldest first", () => {
  const verdicts = new Verdicts();
  for (let attempt = 1; attempt <= 5; attempt++) verdicts.add("p", attemptOf(attempt));

  assert.deepEqual(
    verdicts.of("p").map(({ attempt }) => attempt),
    [3, 4, 5],
  );
  assert.deepEqual(verdicts.of("q"), []);
});

test("verdicts keep only the last pods", () => {
  const verdicts = new Verdicts({ pods: 2, rejections: 1000 });
  for (const name of ["p", "q", "p", "r"]) verdicts.add(name, attemptOf(1));

  assert.deepEqual(
    ["p", "q", "r"].map((name) => verdicts.of(name).length),
    [2, 0, 1],
  );
});

test("verdicts drop pods rather than fill memory with the rejections of many nodes", () => {
  const verdicts = new Verdicts({ pods: 1000, rejections: 250 });
  for (const name of ["p", "q", "r"]) verdicts.add(name, attemptOf(1, 100));
  assert.deepEqual(
    ["p", "q", "r"].map((name) => verdicts.of(name).length),
    [0, 1, 1],
  );

  verdicts.add("huge", attemptOf(1, 10_000));

  assert.equal(verdicts.of("huge").length, 1);
  assert.equal(verdicts.of("r").length, 0);
});

test("renderVerdicts() names each node with what refused it", () => {
  const { attempts } = renderVerdicts([attemptOf(1, 1), { ...attemptOf(2), node: "a", message: "placed on a" }]);

  assert.deepEqual(attempts, [
    {
      atMs: 1000,
      attempt: 1,
      node: "",
      evaluated: 1,
      message: "no",
      rejections: [{ node: "n0", plugin: "NodeResourcesFit", reasons: ["Insufficient cpu"] }],
    },
    { atMs: 2000, attempt: 2, node: "a", evaluated: 0, message: "placed on a", rejections: [] },
  ]);
});
