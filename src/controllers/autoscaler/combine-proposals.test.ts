import assert from "node:assert/strict";
import { test } from "node:test";
import { type MetricSpec } from "#api/autoscaling/metrics.ts";
import { combineProposals, failureOf, type MetricOutcome } from "./combine-proposals.ts";

const asks = (replicas: number, name = `metric ${replicas}`): MetricOutcome => ({
  proposal: { replicas, name, status: { type: "Resource" } },
});
const fails: MetricOutcome = {
  failure: { reason: "FailedGetPodsMetric", message: "no adapter", error: "no value: no adapter" },
};

const cases = [
  {
    name: "takes the metric that asks for the most",
    outcomes: [asks(2), asks(5), asks(3)],
    replicas: 5,
    metric: "metric 5",
  },
  { name: "may ask for none", outcomes: [asks(0)], replicas: 0, metric: "metric 0" },
  { name: "adds pods although a metric fails", outcomes: [fails, asks(5)], replicas: 5, metric: "metric 5" },
  { name: "removes no pods if a metric fails", outcomes: [fails, asks(2)], replicas: undefined, metric: "" },
  { name: "concludes nothing if all metrics fail", outcomes: [fails, fails], replicas: undefined, metric: "" },
];
for (const { name, outcomes, replicas, metric } of cases) {
  test(`combineProposals() ${name}`, () => {
    const combined = combineProposals(outcomes, 3);
    assert.deepEqual([combined.replicas, combined.metric], [replicas, metric]);
  });
}

test("combineProposals() reports the first failure and keeps the places of the metrics", () => {
  const { active, error, statuses } = combineProposals([fails, asks(2)], 3);
  assert.deepEqual(active, {
    status: "False",
    reason: "FailedGetPodsMetric",
    message: "the HPA was unable to compute the replica count: no adapter",
  });
  assert.equal(error, "invalid metrics (1 invalid out of 2), first error is: no value: no adapter");
  assert.deepEqual(statuses, [{ type: "" }, { type: "Resource" }]);
});

const value = { type: "Value", value: "1" };
const average = { type: "AverageValue", averageValue: "1" };
const describedObject = { kind: "Service", name: "web" };
const failures: { name: string; spec: MetricSpec; expected: string[] }[] = [
  {
    name: "a utilization",
    spec: { type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 50 } } },
    expected: [
      "FailedGetResourceMetric",
      "failed to get cpu utilization: x",
      "failed to get cpu resource metric value: failed to get cpu utilization: x",
    ],
  },
  {
    name: "a usage of a container",
    spec: { type: "ContainerResource", containerResource: { name: "memory", container: "main", target: average } },
    expected: [
      "FailedGetContainerResourceMetric",
      "failed to get memory usage: x",
      "failed to get main container metric value: failed to get memory usage: x",
    ],
  },
  {
    name: "a metric of pods",
    spec: { type: "Pods", pods: { metric: { name: "rps" }, target: average } },
    expected: ["FailedGetPodsMetric", "x", "failed to get pods metric value: x"],
  },
  {
    name: "a metric of an object",
    spec: { type: "Object", object: { metric: { name: "rps" }, describedObject, target: value } },
    expected: ["FailedGetObjectMetric", "x", "failed to get object metric value: x"],
  },
  {
    name: "an average of an object",
    spec: { type: "Object", object: { metric: { name: "rps" }, describedObject, target: average } },
    expected: ["FailedGetObjectMetric", "x", "failed to get object metric value: failed to get rps object metric: x"],
  },
  {
    name: "an external metric",
    spec: { type: "External", external: { metric: { name: "queue" }, target: value } },
    expected: [
      "FailedGetExternalMetric",
      "x",
      "failed to get queue external metric value: failed to get external metric queue: x",
    ],
  },
  {
    name: "an external average",
    spec: { type: "External", external: { metric: { name: "queue" }, target: average } },
    expected: [
      "FailedGetExternalMetric",
      "x",
      "failed to get queue external metric value: failed to get queue external metric: x",
    ],
  },
];
for (const { name, spec, expected } of failures) {
  test(`failureOf() has upstream's words for ${name}`, () => {
    const { reason, message, error } = failureOf(spec, "x");
    assert.deepEqual([reason, message, error], expected);
  });
}
