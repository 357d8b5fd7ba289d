import assert from "node:assert/strict";
import { test } from "node:test";
import { Pod } from "#api/core/pod.ts";
import { PodDisruptionBudget } from "#api/policy/pod-disruption-budget.ts";
import { type InputOf } from "#api/resource.ts";
import { StatusError } from "#api/status.ts";
import { build } from "#testing/build.ts";
import { isUnprotected, planDisruption } from "./disruption-budget.ts";

const nowMs = Date.parse("2026-01-01T00:00:00Z");
const selector = { matchLabels: { app: "web" } };
type Status = Partial<PodDisruptionBudget["status"]>;

const budgetOf = (status: Status, part: InputOf<PodDisruptionBudget> = {}): PodDisruptionBudget =>
  build(PodDisruptionBudget, {
    ...part,
    metadata: { name: "b", generation: 2, ...part.metadata },
    spec: { selector, ...part.spec },
    status: {
      disruptionsAllowed: 1,
      currentHealthy: 3,
      desiredHealthy: 2,
      expectedPods: 3,
      observedGeneration: 2,
      ...status,
    },
  });
const podOf = (status: InputOf<Pod>["status"] = {}, metadata: InputOf<Pod>["metadata"] = {}): Pod =>
  build(Pod, {
    metadata: { name: "web-1", labels: { app: "web" }, ...metadata },
    spec: { containers: [{ name: "c" }] },
    status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }], ...status },
  });
const unready = podOf({ conditions: [] });

/** What is planned, or the cause of the refusal with its code. */
function outcome(pod: Pod, ...budgets: PodDisruptionBudget[]): string {
  try {
    return planDisruption(pod, budgets, nowMs).type;
  } catch (error) {
    assert(error instanceof StatusError);
    return `${error.code} ${error.details?.causes?.[0]?.message ?? error.message}`;
  }
}

const cases: [name: string, found: string, wanted: string][] = [
  ["no budget", outcome(podOf()), "evict"],
  ["a budget of other pods", outcome(podOf({}, { labels: { app: "db" } }), budgetOf({})), "evict"],
  ["a budget without a selector", outcome(podOf(), build(PodDisruptionBudget, { metadata: { name: "b" } })), "evict"],
  ["a budget that allows it", outcome(podOf(), budgetOf({})), "charge"],
  [
    "two budgets",
    outcome(podOf(), budgetOf({}), budgetOf({}, { spec: { selector: {} } })),
    "500 This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
  ],
  [
    "a budget that is used up",
    outcome(podOf(), budgetOf({ disruptionsAllowed: 0, currentHealthy: 2 })),
    "429 The disruption budget b needs 2 healthy pods and has 2 currently",
  ],
  [
    "a budget with evictions under way",
    outcome(podOf(), budgetOf({ disruptionsAllowed: 0 })),
    "429 The disruption budget b does not allow evicting pods currently",
  ],
  [
    "a budget that cannot be counted",
    outcome(podOf(), budgetOf({ disruptionsAllowed: 0, conditions: [failed("SyncFailed")] })),
    "429 The disruption budget b does not allow evicting pods currently because it failed sync: no scale",
  ],
  [
    "a budget with another reason",
    outcome(podOf(), budgetOf({ disruptionsAllowed: 0, conditions: [failed("Frozen")] })),
    "429 The disruption budget b does not allow evicting pods currently (Frozen): no scale",
  ],
  [
    "a budget that was not counted since its change",
    outcome(podOf(), budgetOf({ observedGeneration: 1 })),
    "429 The disruption budget b is still being processed by the server.",
  ],
  [
    "a budget with too many evictions under way",
    outcome(podOf(), budgetOf({ disruptedPods: many(2001) })),
    '403 poddisruptionbudget.policy "b" is forbidden: DisruptedPods map too big - too many evictions not confirmed by PDB controller',
  ],
  ["an unready pod while enough are healthy", outcome(unready, budgetOf({ disruptionsAllowed: 0 })), "evict-unready"],
  [
    "an unready pod while too few are healthy",
    outcome(unready, budgetOf({ disruptionsAllowed: 0, currentHealthy: 1 })),
    "429 The disruption budget b needs 2 healthy pods and has 1 currently",
  ],
  [
    "an unready pod that may always leave",
    outcome(
      unready,
      budgetOf({ disruptionsAllowed: 0, currentHealthy: 1 }, { spec: { unhealthyPodEvictionPolicy: "AlwaysAllow" } }),
    ),
    "evict-unready",
  ],
];
function failed(reason: string) {
  const lastTransitionTime = "2026-01-01T00:00:00Z";
  return { type: "DisruptionAllowed", status: "False", reason, message: "no scale", lastTransitionTime };
}
function many(count: number): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, "2026-01-01T00:00:00Z"]));
}

for (const [name, found, wanted] of cases) test(`eviction with ${name}`, () => assert.equal(found, wanted));

test("the last eviction that a budget allows changes its condition", () => {
  const plan = planDisruption(podOf(), [budgetOf({})], nowMs);
  assert(plan.type === "charge");
  const { disruptionsAllowed, disruptedPods, conditions } = plan.status;
  assert.deepEqual([disruptionsAllowed, disruptedPods], [0, { "web-1": "2026-01-01T00:00:00Z" }]);
  assert.deepEqual([conditions?.[0]?.status, conditions?.[0]?.reason], ["False", "InsufficientPods"]);
});

test("pods that have ended, have not started or are being deleted are not protected", () => {
  const isFree = (status: InputOf<Pod>["status"], metadata = {}) => isUnprotected(podOf(status, metadata));
  assert.deepEqual(
    [isFree({ phase: "Pending" }), isFree({ phase: "Succeeded" }), isFree({ phase: "Failed" }), isFree({})],
    [true, true, true, false],
  );
  assert.equal(isFree({}, { deletionTimestamp: "2026-01-01T00:00:00Z" }), true);
});
