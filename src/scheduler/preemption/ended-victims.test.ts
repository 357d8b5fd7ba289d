import assert from "node:assert/strict";
import { test } from "node:test";
import { type Pod } from "#api/core/pod.ts";
import { PodDisruptionBudget } from "#api/policy/pod-disruption-budget.ts";
import { type Change } from "#runtime/informer.ts";
import { build } from "#testing/build.ts";
import { makePod, podKey } from "#testing/scheduling.ts";
import { Budgets, splitByBudget } from "./budgets.ts";
import { EndedVictims } from "./ended-victims.ts";

const labels = { app: "web" };
const pods = ["a", "b"].map((name) => {
  const made = makePod(name, { labels });
  const pod = { ...made, metadata: { ...made.metadata, uid: name } };
  return { key: podKey(pod), pod };
});
const [first, second] = pods as [(typeof pods)[0], (typeof pods)[0]];

/** It allows one pod to end, unless its version says otherwise. */
const budgetOf = (resourceVersion: string): PodDisruptionBudget => {
  const disruptionsAllowed = resourceVersion === "exhausted" ? 0 : 1;
  const budget = build(PodDisruptionBudget, {
    metadata: { name: "web", namespace: "default" },
    spec: { selector: { matchLabels: labels } },
    status: { disruptionsAllowed, currentHealthy: 2, desiredHealthy: 1, expectedPods: 2 },
  });
  return { ...budget, metadata: { ...budget.metadata, uid: "u", resourceVersion } };
};

/** The budget, and what has happened to pods, in the order of the calls. */
function setUp() {
  let nowMs = 0;
  let budget = budgetOf("1");
  const ended = new EndedVictims(() => [budget], { now: () => nowMs });
  return {
    ended,
    setTime: (ms: number) => (nowMs = ms),
    /** For the sake of some pod. */
    choose: (victim = first) => {
      const choice = { victims: [victim] };
      ended.choose(choice);
      return {
        written: () => ended.written(choice, victim),
        spare: () => ended.spare(choice, victim),
      };
    },
    count: (version: string) => (budget = budgetOf(version)),
    end: (pod = first.pod) => ended.onPod({ type: "put", object: ending(pod), previous: pod } as Change<Pod>),
    isBreaking: (victim = second) =>
      splitByBudget([victim], new Budgets(() => [budget], ended.recent())).breaking.length === 1,
  };
}

const ending = (pod: Pod): Pod => ({
  ...pod,
  metadata: { ...pod.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" },
});

test("a pod that has just ended counts against its budget until the budget has changed", () => {
  const { choose, count, end, isBreaking } = setUp();
  assert.equal(isBreaking(), false);

  choose();

  assert.equal(isBreaking(), true, "it is not even marked");
  count("2");
  assert.equal(isBreaking(), true, "the change was about something else");
  end();
  assert.equal(isBreaking(), true, "it ends, and the budget does not know");
  count("3");
  assert.equal(isBreaking(), false, "the budget knows");
});

test("a budget that has counted a pod before the next decision is not asked to count it again", () => {
  const { choose, count, end, isBreaking } = setUp();
  choose();
  end();
  count("2");

  assert.equal(isBreaking(), false);
});

test("another pod of the name of one that has ended is not taken for it", () => {
  const { choose, count, end, isBreaking } = setUp();
  const next = { ...first.pod, metadata: { ...first.pod.metadata, uid: "next" } };
  choose();
  end(next);
  count("2");
  assert.equal(isBreaking(), true, "the budget does not know that the first one ends");
  end();
  count("3");

  assert.equal(isBreaking(), false);
});

test("a pod that ended long ago does not count, whatever became of the budget", () => {
  const { setTime, choose, end, isBreaking } = setUp();
  const { written } = choose();
  end();
  setTime(5000);
  written();
  setTime(15_000);
  assert.equal(isBreaking(), true);

  setTime(15_001);
  assert.equal(isBreaking(), false);
});

test("a pod counts until its end is written, however long that takes", () => {
  const { setTime, choose, isBreaking } = setUp();
  const [one, another] = [choose(), choose()];
  one.written();
  setTime(60_000);
  assert.equal(isBreaking(), true, "it is about to end for the sake of another one");
  another.written();
  setTime(70_000);
  assert.equal(isBreaking(), true);

  setTime(70_001);
  assert.equal(isBreaking(), false);
});

test("a pod that is seen to end late counts from then on", () => {
  const { setTime, choose, end, isBreaking } = setUp();
  choose().written();
  setTime(9000);
  end();
  setTime(19_000);
  assert.equal(isBreaking(), true);

  setTime(19_001);
  assert.equal(isBreaking(), false);
});

test("a pod that goes on counts no more, unless it also ends for another one", () => {
  const { choose, isBreaking } = setUp();
  const [one, another] = [choose(), choose()];
  one.spare();
  one.written();
  assert.equal(isBreaking(), true);
  another.spare();

  assert.equal(isBreaking(), false);
});

test("a pod that one was not allowed to end is about to end for the one that chose it since", () => {
  const { setTime, choose, isBreaking } = setUp();
  const one = choose();
  one.spare();
  choose();
  one.written();
  setTime(60_000);

  assert.equal(isBreaking(first), false, "its end is about to be written");
  assert.equal(isBreaking(second), true);
});

test("a pod that may have ended for one counts, although another was not allowed to end it", () => {
  const { setTime, choose, isBreaking } = setUp();
  choose().written();
  setTime(10_000);
  choose().spare();
  assert.equal(isBreaking(), true);

  setTime(10_001);
  assert.equal(isBreaking(), false);
});

test("a pod that ends anyway breaks no budget", () => {
  const { choose, isBreaking } = setUp();
  choose();
  choose();

  assert.equal(isBreaking(first), false, "its end is about to be written");
  assert.equal(isBreaking({ ...second, pod: ending(second.pod) }), false, "it ends");
  assert.equal(isBreaking(second), true, "it goes on");
});

test("a pod that a user ended before it was chosen is not counted again", () => {
  const { choose, isBreaking } = setUp();

  choose({ ...first, pod: ending(first.pod) });

  assert.equal(isBreaking(), false);
});

test("as long as no pod has ended, nothing is looked at when pods change", () => {
  const { ended } = setUp();
  const unread = new Proxy({}, { get: () => assert.fail("it was looked at") }) as Pod;

  ended.onPod({ type: "put", object: unread, previous: undefined } as Change<Pod>);
});

test("a pod of which nobody knows whether it ends counts once", () => {
  const { choose, isBreaking, count } = setUp();
  choose().written();
  assert.equal(isBreaking(first), false);
  count("exhausted");

  assert.equal(isBreaking(first), true);
});
