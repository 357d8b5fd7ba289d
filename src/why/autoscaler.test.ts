import assert from "node:assert/strict";
import { test } from "node:test";
import { HorizontalPodAutoscaler } from "#api/autoscaling/horizontal-pod-autoscaler.ts";
import { build } from "#testing/build.ts";
import { explain } from "./explain.ts";

type Status = Partial<HorizontalPodAutoscaler["status"]>;
const explained = (status: Status) =>
  explain({
    about: "autoscaler",
    autoscaler: build(HorizontalPodAutoscaler, {
      metadata: { name: "web", namespace: "default" },
      spec: {
        scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" },
        minReplicas: 1,
        maxReplicas: 5,
        metrics: [
          { type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 50 } } },
        ],
      },
      status: { desiredReplicas: 3, currentReplicas: 3, ...status },
    }),
  });
const condition = (type: string, status: string, reason: string, message = "the text") => ({
  type,
  status,
  reason,
  message,
});
const able = condition("AbleToScale", "True", "ReadyForNewScale");
const active = condition("ScalingActive", "True", "ValidMetricFound");

const cases = [
  { conditions: [], state: "Unobserved", headline: /has not done anything yet/ },
  {
    conditions: [condition("AbleToScale", "False", "FailedGetScale")],
    state: "FailedGetScale",
    headline: /web cannot scale: the text\./,
  },
  {
    conditions: [able, condition("ScalingActive", "False", "ScalingDisabled")],
    state: "ScalingDisabled",
    headline: /does not scale: the text\./,
  },
  {
    conditions: [able, condition("ScalingActive", "False", "FailedGetPodsMetric")],
    state: "FailedGetPodsMetric",
    headline: /does not scale/,
  },
  {
    conditions: [able, active, condition("ScalingLimited", "True", "TooManyReplicas")],
    state: "TooManyReplicas",
    headline: /would like more than 5 replicas/,
  },
  {
    conditions: [able, active, condition("ScalingLimited", "True", "TooFewReplicas")],
    state: "TooFewReplicas",
    headline: /would like fewer than 1 replica,/,
  },
  {
    conditions: [able, active, condition("ScalingLimited", "True", "ScaleUpLimit")],
    state: "ScaleUpLimit",
    headline: /as fast as it may: the text\./,
  },
  {
    conditions: [condition("AbleToScale", "True", "ScaleDownStabilized"), active],
    state: "ScaleDownStabilized",
    headline: /waits until fewer pods have been enough for a while/,
  },
  {
    conditions: [condition("AbleToScale", "True", "ScaleUpStabilized"), active],
    state: "ScaleUpStabilized",
    headline: /waits until more pods have been needed for a while/,
  },
  { conditions: [able, active], state: "Steady", headline: /works, and keeps 3 replicas/ },
];
for (const { conditions, state, headline } of cases) {
  test(`explain() tells why an autoscaler is ${state}`, () => {
    const found = explained({ conditions });
    assert.equal(found.state, state);
    assert.match(found.headline, headline);
  });
}

test("explain() shows the metrics of an autoscaler", () => {
  const currentMetrics = [{ type: "Resource", resource: { name: "cpu", current: { averageUtilization: 45 } } }];
  assert.deepEqual(explained({ conditions: [able, active], currentMetrics }).evidence, [
    "Deployment web has 3 replicas, and may have 1 to 5",
    "cpu: 45%/50%",
  ]);
  assert.equal(explained({ conditions: [able, active], currentReplicas: 1 }).state, "Scaling");
});
