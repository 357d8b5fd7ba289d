import assert from "node:assert/strict";
import { test } from "node:test";
import { Pod } from "#api/core/pod.ts";
import { PodDisruptionBudget } from "#api/policy/pod-disruption-budget.ts";
import { type InputOf } from "#api/resource.ts";
import { build } from "#testing/build.ts";
import { needsScale, planBudget } from "./plan-budget.ts";

const nowMs = Date.parse("2026-01-01T01:00:00Z");
type Spec = NonNullable<InputOf<PodDisruptionBudget>["spec"]>;
type Status = Partial<PodDisruptionBudget["status"]>;

const budgetOf = (spec: Spec, status: Status = {}): PodDisruptionBudget =>
  build(PodDisruptionBudget, {
    metadata: { name: "b", generation: 3 },
    spec,
    status: { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0, ...status },
  });

/** `a` is ready, `b!` is not, `c-` is being deleted. */
const podNamed = (text: string): Pod => {
  const [, name = "", mark] = /^(\w+)([!-]?)$/.exec(text) ?? [];
  const conditions = [{ type: "Ready", status: mark === "!" ? ("False" as const) : ("True" as const) }];
  const deletion = mark === "-" ? { deletionTimestamp: "2026-01-01T00:59:59Z" } : {};
  return build(Pod, { metadata: { name, ...deletion }, spec: { containers: [{ name: "c" }] }, status: { conditions } });
};

const cases: {
  name: string;
  spec: Spec;
  pods: string;
  scale?: number;
  disrupted?: Record<string, string>;
  /** allowed, healthy, desired, expected */
  counts: [number, number, number, number];
}[] = [
  { name: "a number must stay", spec: { minAvailable: 2 }, pods: "a b c", counts: [1, 3, 2, 3] },
  { name: "unready and deleted pods do not count", spec: { minAvailable: 1 }, pods: "a b! c-", counts: [0, 1, 1, 3] },
  { name: "more must stay than there are", spec: { minAvailable: 5 }, pods: "a b", counts: [0, 2, 5, 2] },
  {
    name: "a share of what is wanted must stay",
    spec: { minAvailable: "50%" },
    pods: "a b c",
    scale: 5,
    counts: [0, 3, 3, 5],
  },
  { name: "a number may be missing", spec: { maxUnavailable: 1 }, pods: "a b c", scale: 3, counts: [1, 3, 2, 3] },
  {
    name: "a share may be missing, rounded up",
    spec: { maxUnavailable: "30%" },
    pods: "a b c d",
    scale: 4,
    counts: [2, 4, 2, 4],
  },
  { name: "all may be missing", spec: { maxUnavailable: 9 }, pods: "a b", scale: 2, counts: [2, 2, 0, 2] },
  { name: "nothing is allowed without pods", spec: { minAvailable: 0 }, pods: "", counts: [0, 0, 0, 0] },
  { name: "a budget without limits allows nothing", spec: {}, pods: "a", counts: [0, 1, 0, 0] },
  {
    name: "a pod that is to be evicted does not count",
    spec: { minAvailable: 1 },
    pods: "a b c",
    disrupted: { a: "2026-01-01T00:59:00Z" },
    counts: [1, 2, 1, 3],
  },
  {
    name: "a pod that was not evicted in time counts again",
    spec: { minAvailable: 1 },
    pods: "a b c",
    disrupted: { a: "2026-01-01T00:57:00Z" },
    counts: [2, 3, 1, 3],
  },
];

for (const { name, spec, pods, scale = 0, disrupted, counts } of cases) {
  test(`planBudget(): ${name}`, () => {
    const budget = budgetOf(spec, disrupted ? { disruptedPods: disrupted } : {});
    const list = pods.split(" ").filter(Boolean).map(podNamed);
    const { status } = planBudget({ budget, pods: list, expectedScale: scale, nowMs });
    const { disruptionsAllowed, currentHealthy, desiredHealthy, expectedPods, conditions, observedGeneration } = status;
    assert.deepEqual([disruptionsAllowed, currentHealthy, desiredHealthy, expectedPods], counts);
    const [condition] = conditions ?? [];
    assert.equal(condition?.status, counts[0] > 0 ? "True" : "False");
    assert.equal(condition?.reason, counts[0] > 0 ? "SufficientPods" : "InsufficientPods");
    assert.deepEqual([observedGeneration, condition?.observedGeneration], [3, 3]);
    assert.equal(needsScale(budget), scale > 0);
  });
}

test("planBudget() forgets evictions of pods that are gone, and looks again when others are due", () => {
  const disruptedPods = {
    a: "2026-01-01T00:59:30Z",
    b: "2026-01-01T00:59:00Z",
    c: "2026-01-01T00:59:50Z",
    gone: "2026-01-01T00:59:50Z",
    late: "2026-01-01T00:50:00Z",
  };
  const pods = ["a", "b", "c-", "late"].map(podNamed);
  const plan = planBudget({ budget: budgetOf({ minAvailable: 1 }, { disruptedPods }), pods, expectedScale: 0, nowMs });
  assert.deepEqual(plan.status.disruptedPods, { a: disruptedPods.a, b: disruptedPods.b });
  assert.deepEqual(
    plan.notDeleted.map(({ metadata }) => metadata.name),
    ["late"],
  );
  assert.equal(plan.againAtMs, Date.parse("2026-01-01T01:01:00Z") + 1);
});

test("planBudget() changes the time of its condition only with its status", () => {
  const first = planBudget({ budget: budgetOf({ minAvailable: 1 }), pods: [podNamed("a")], expectedScale: 0, nowMs });
  const again = { budget: budgetOf({ minAvailable: 1 }, first.status), expectedScale: 0, nowMs: nowMs + 5000 };
  assert.deepEqual(planBudget({ ...again, pods: [podNamed("a")] }).status, first.status);
  const { status } = planBudget({ ...again, pods: [podNamed("a"), podNamed("b")] });
  assert.equal(status.conditions?.[0]?.lastTransitionTime, "2026-01-01T01:00:05Z");
});
