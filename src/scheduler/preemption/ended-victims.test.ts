import assert from "node:assert/strict";
import { test } from "node:test";
import { type Pod } from "#api/core/pod.ts";
import { PodDisruptionBudget } from "#api/policy/pod-disruption-budget.ts";
import { build } from "#testing/build.ts";
import { makePod, podKey } from "#testing/scheduling.ts";
import { Budgets, splitByBudget } from "./budgets.ts";
import { EndedVictims } from "./ended-victims.ts";

const labels = { app: "web" };
const pods = ["a", "b"].map((name) => {
  const pod = makePod(name, { labels });
  return { key: podKey(pod), pod };
});
const [first, second] = pods as [(typeof pods)[0], (typeof pods)[0]];

const budgetOf = (resourceVersion: string): PodDisruptionBudget => {
  const budget = build(PodDisruptionBudget, {
    metadata: { name: "web", namespace: "default" },
    spec: { selector: { matchLabels: labels } },
    status: { disruptionsAllowed: 1, currentHealthy: 2, desiredHealthy: 1, expectedPods: 2 },
  });
  return { ...budget, metadata: { ...budget.metadata, uid: "u", resourceVersion } };
};

function isBreaking(ended: EndedVictims, version: string, atMs: number, known: Pod | undefined): boolean {
  const budgets = new Budgets(
    () => [budgetOf(version)],
    ended.recent(atMs, () => known),
  );
  return splitByBudget([second], budgets).breaking.length === 1;
}

test("a pod that has just ended counts against its budget until the budget has changed", () => {
  const ended = new EndedVictims();
  assert.equal(isBreaking(ended, "1", 0, first.pod), false);

  ended.add([first], 0);

  assert.equal(isBreaking(ended, "1", 0, first.pod), true, "it is not even marked");
  assert.equal(isBreaking(ended, "2", 0, first.pod), true, "the change was about something else");
  assert.equal(isBreaking(ended, "2", 1, undefined), true, "it is gone, and the budget does not know");
  assert.equal(isBreaking(ended, "3", 2, undefined), false, "the budget knows");
});

test("another pod of the name of one that has ended is not taken for it", () => {
  const ended = new EndedVictims();
  ended.add([first], 0);
  const next = { ...first.pod, metadata: { ...first.pod.metadata, uid: "next" } };
  assert.equal(isBreaking(ended, "1", 0, next), true, "the budget does not know that the first one is gone");

  assert.equal(isBreaking(ended, "2", 1, next), false);
});

test("a pod that ended long ago does not count, whatever became of the budget", () => {
  const ended = new EndedVictims();
  ended.add([first], 0);

  assert.equal(isBreaking(ended, "1", 10_001, undefined), false);
});
