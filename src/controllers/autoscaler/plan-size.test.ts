import assert from "node:assert/strict";
import { test } from "node:test";
import { type HorizontalPodAutoscalerBehavior } from "#api/autoscaling/horizontal-pod-autoscaler.ts";
import { planSize } from "./plan-size.ts";
import { type Recommendation, type ScaleChange, withChange, withRecommendation } from "./scaling-history.ts";

const nowMs = 10_000_000;
const before = (seconds: number): number => nowMs - seconds * 1000;

interface Facts {
  readonly current: number;
  readonly wanted: number;
  readonly min?: number;
  readonly max?: number;
  readonly behavior?: HorizontalPodAutoscalerBehavior;
  readonly recommendations?: readonly Recommendation[];
  readonly ups?: readonly ScaleChange[];
  readonly downs?: readonly ScaleChange[];
}

function planned({ current, wanted, min = 1, max = 100, behavior, recommendations = [], ups = [], downs = [] }: Facts) {
  const spec = { minReplicas: min, maxReplicas: max, ...(behavior ? { behavior } : {}) };
  const plan = planSize({ spec, current, wanted, history: { recommendations, ups, downs }, nowMs });
  return [plan.replicas, plan.stabilized.reason, plan.isLimited ? plan.limit.reason : ""];
}

const at = (replicas: number, seconds: number): Recommendation => ({ replicas, atMs: before(seconds) });
const changed = (change: number, seconds: number): ScaleChange => ({ change, atMs: before(seconds) });
const pods = (value: number, periodSeconds: number) => ({ type: "Pods", value, periodSeconds });
const percent = (value: number, periodSeconds: number) => ({ type: "Percent", value, periodSeconds });
const rules = (policies: ReturnType<typeof pods>[], selectPolicy = "Max", stabilizationWindowSeconds = 0) => ({
  policies,
  selectPolicy,
  stabilizationWindowSeconds,
});
const freely = { scaleUp: rules([percent(1000, 15)]), scaleDown: rules([percent(100, 15)]) };
const ready = "ReadyForNewScale";

const cases: { name: string; facts: Facts; expected: (string | number)[] }[] = [
  { name: "follows the metrics", facts: { current: 3, wanted: 5 }, expected: [5, ready, ""] },
  { name: "at most doubles", facts: { current: 3, wanted: 50 }, expected: [6, ready, "ScaleUpLimit"] },
  { name: "may always go to 4", facts: { current: 1, wanted: 50 }, expected: [4, ready, "ScaleUpLimit"] },
  { name: "keeps the maximum", facts: { current: 3, wanted: 50, max: 5 }, expected: [5, ready, "TooManyReplicas"] },
  { name: "keeps the minimum", facts: { current: 3, wanted: 0, min: 2 }, expected: [2, ready, "TooFewReplicas"] },
  {
    name: "keeps pods that were needed lately",
    facts: { current: 5, wanted: 1, recommendations: [at(4, 200), at(2, 10)] },
    expected: [4, "ScaleDownStabilized", ""],
  },
  {
    name: "forgets what was needed long ago",
    facts: { current: 5, wanted: 1, recommendations: [at(4, 301)] },
    expected: [1, ready, ""],
  },
  {
    name: "with rules, keeps pods that were needed lately",
    facts: {
      current: 5,
      wanted: 1,
      recommendations: [at(4, 200)],
      behavior: { ...freely, scaleDown: { ...freely.scaleDown, stabilizationWindowSeconds: 250 } },
    },
    expected: [4, "ScaleDownStabilized", ""],
  },
  {
    name: "with rules but without a window, keeps pods for five minutes",
    facts: {
      current: 5,
      wanted: 1,
      recommendations: [at(4, 299)],
      behavior: { ...freely, scaleDown: { policies: [percent(100, 15)], selectPolicy: "Max" } },
    },
    expected: [4, "ScaleDownStabilized", ""],
  },
  {
    name: "with rules, waits until more pods are needed for a while",
    facts: {
      current: 2,
      wanted: 9,
      recommendations: [at(3, 50)],
      behavior: { ...freely, scaleUp: rules([percent(1000, 15)], "Max", 60) },
    },
    expected: [3, "ScaleUpStabilized", ""],
  },
  {
    name: "with rules, the current size counts between both windows",
    facts: {
      current: 4,
      wanted: 9,
      recommendations: [at(2, 50)],
      behavior: { ...freely, scaleUp: rules([percent(1000, 15)], "Max", 60) },
    },
    expected: [4, "ScaleUpStabilized", ""],
  },
  {
    name: "adds as many pods as the largest policy allows",
    facts: { current: 10, wanted: 50, behavior: { ...freely, scaleUp: rules([pods(4, 15), percent(100, 15)]) } },
    expected: [20, ready, "ScaleUpLimit"],
  },
  {
    name: "adds as few pods as the smallest policy allows",
    facts: { current: 10, wanted: 50, behavior: { ...freely, scaleUp: rules([pods(4, 15), percent(100, 15)], "Min") } },
    expected: [14, ready, "ScaleUpLimit"],
  },
  {
    name: "rounds a percentage of added pods up",
    facts: { current: 3, wanted: 50, behavior: { ...freely, scaleUp: rules([percent(10, 15)]) } },
    expected: [4, ready, "ScaleUpLimit"],
  },
  {
    name: "counts what was added in the period",
    facts: {
      current: 10,
      wanted: 50,
      ups: [changed(3, 30), changed(5, 90)],
      behavior: { ...freely, scaleUp: rules([pods(4, 60)]) },
    },
    expected: [11, ready, "ScaleUpLimit"],
  },
  {
    name: "waits if the period's pods are used up",
    facts: { current: 10, wanted: 50, ups: [changed(8, 30)], behavior: { ...freely, scaleUp: rules([pods(4, 60)]) } },
    expected: [10, ready, "ScaleUpLimit"],
  },
  {
    name: "removes as many pods as the largest policy allows",
    facts: { current: 20, wanted: 1, behavior: { ...freely, scaleDown: rules([pods(4, 60), percent(50, 60)]) } },
    expected: [10, ready, "ScaleDownLimit"],
  },
  {
    name: "removes as few pods as the smallest policy allows",
    facts: { current: 20, wanted: 1, behavior: { ...freely, scaleDown: rules([pods(4, 60), percent(50, 60)], "Min") } },
    expected: [16, ready, "ScaleDownLimit"],
  },
  {
    name: "counts what was removed in the period",
    facts: {
      current: 20,
      wanted: 1,
      downs: [changed(3, 30)],
      behavior: { ...freely, scaleDown: rules([pods(4, 60)]) },
    },
    expected: [19, ready, "ScaleDownLimit"],
  },
  {
    name: "adds nothing if that is disabled",
    facts: { current: 3, wanted: 9, behavior: { ...freely, scaleUp: { ...freely.scaleUp, selectPolicy: "Disabled" } } },
    expected: [3, ready, "ScaleUpLimit"],
  },
  {
    name: "removes nothing if that is disabled",
    facts: {
      current: 3,
      wanted: 1,
      behavior: { ...freely, scaleDown: { ...freely.scaleDown, selectPolicy: "Disabled" } },
    },
    expected: [3, ready, "ScaleDownLimit"],
  },
  {
    name: "with rules, keeps the maximum",
    facts: { current: 3, wanted: 50, max: 5, behavior: freely },
    expected: [5, ready, "TooManyReplicas"],
  },
  {
    name: "with rules, keeps the minimum",
    facts: { current: 3, wanted: 0, min: 2, behavior: freely },
    expected: [2, ready, "TooFewReplicas"],
  },
];
for (const { name, facts, expected } of cases) {
  test(`planSize() ${name}`, () => assert.deepEqual(planned(facts), expected));
}

test("the history of an autoscaler does not grow without end", () => {
  let history = { recommendations: [], ups: [], downs: [] } as Parameters<typeof withChange>[0];
  for (let run = 0; run < 1000; run++) {
    history = withRecommendation(history, run, run * 15_000);
    history = withChange(history, { from: run % 2, to: 1 - (run % 2) }, run * 15_000);
  }

  assert.equal(history.recommendations.length, 3600 / 15 + 1);
  assert.equal(history.ups.length + history.downs.length, 1800 / 15);
});

test("equal recommendations in a row are one, and the newest counts", () => {
  let history: Parameters<typeof withChange>[0] = { recommendations: [], ups: [], downs: [] };
  for (const [run, replicas] of [4, 4, 2, 2, 4, 4].entries()) {
    history = withRecommendation(history, replicas, run * 15_000);
  }

  assert.deepEqual(history.recommendations, [
    { replicas: 4, atMs: 15_000 },
    { replicas: 2, atMs: 45_000 },
    { replicas: 4, atMs: 75_000 },
  ]);
});
