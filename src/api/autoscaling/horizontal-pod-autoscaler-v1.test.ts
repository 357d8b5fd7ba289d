import assert from "node:assert/strict";
import { test } from "node:test";
import { maxAnnotationBytes } from "#api/meta/validate-meta.ts";
import { faultsOf, read, statusFaultsOf, updateFaultsOf } from "../faults.suite.ts";
import { prepareUpdate } from "../rules.ts";
import { HorizontalPodAutoscaler } from "./horizontal-pod-autoscaler.ts";
import { autoscalersV1, fromStored, toStored } from "./horizontal-pod-autoscaler-v1.ts";

const metadata = { name: "web", namespace: "default" };
const scaleTargetRef = { apiVersion: "apps/v1", kind: "Deployment", name: "web" };
const prefix = "autoscaling.alpha.kubernetes.io/";
const spec = { scaleTargetRef, maxReplicas: 5 };
const v1 = (annotations: Readonly<Record<string, string>> = {}, more: object = {}) => ({
  kind: "HorizontalPodAutoscaler",
  apiVersion: "autoscaling/v1",
  metadata: { ...metadata, annotations },
  spec: { ...spec, ...more },
});

const selector = { matchLabels: { a: "b" } };
const cpu = { type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 50 } } };
const metrics = [
  {
    type: "Object",
    object: {
      describedObject: { kind: "Service", name: "web" },
      metric: { name: "rps", selector },
      target: { type: "Value", value: "10" },
    },
  },
  {
    type: "Object",
    object: {
      describedObject: { kind: "Service", name: "web" },
      metric: { name: "rps" },
      target: { type: "AverageValue", averageValue: "10" },
    },
  },
  { type: "Pods", pods: { metric: { name: "rps", selector }, target: { type: "AverageValue", averageValue: "1k" } } },
  { type: "Resource", resource: { name: "memory", target: { type: "AverageValue", averageValue: "1Gi" } } },
  {
    type: "ContainerResource",
    containerResource: { name: "cpu", container: "app", target: { type: "Utilization", averageUtilization: 60 } },
  },
  { type: "External", external: { metric: { name: "q", selector }, target: { type: "Value", value: "3" } } },
  { type: "External", external: { metric: { name: "q" }, target: { type: "AverageValue", averageValue: "3" } } },
  cpu,
];
const whole = {
  kind: "HorizontalPodAutoscaler",
  apiVersion: "autoscaling/v2",
  metadata: { ...metadata, annotations: { own: "kept" } },
  spec: {
    ...spec,
    metrics,
    behavior: { scaleDown: { policies: [{ type: "Pods", value: 1, periodSeconds: 60 }], tolerance: "50m" } },
  },
  status: {
    observedGeneration: 3,
    lastScaleTime: "2026-01-01T00:00:00Z",
    currentReplicas: 2,
    desiredReplicas: 4,
    currentMetrics: [
      {
        type: "Object",
        object: {
          describedObject: { kind: "Service", name: "web" },
          metric: { name: "rps", selector },
          current: { value: "9", averageValue: "3" },
        },
      },
      { type: "Pods", pods: { metric: { name: "rps" }, current: { averageValue: "900" } } },
      {
        type: "ContainerResource",
        containerResource: { name: "cpu", container: "app", current: { averageValue: "1", averageUtilization: 55 } },
      },
      { type: "External", external: { metric: { name: "q" }, current: { value: "1", averageValue: "2" } } },
      { type: "Resource", resource: { name: "cpu", current: { averageValue: "1", averageUtilization: 45 } } },
    ],
    conditions: [
      { type: "AbleToScale", status: "True", reason: "Ready", message: "", lastTransitionTime: "2026-01-01T00:00:00Z" },
    ],
  },
};

test("an autoscaler comes back from autoscaling/v1 as it was", () => {
  const stored = read(HorizontalPodAutoscaler, whole);

  const older = fromStored(stored);

  assert.equal(older.apiVersion, "autoscaling/v1");
  assert.equal(older.spec.targetCPUUtilizationPercentage, 50);
  assert.equal(older.status.currentCPUUtilizationPercentage, 45);
  assert.equal(older.metadata.annotations?.own, "kept");
  assert.deepEqual(toStored(older), stored);
});

test("the annotations of autoscaling/v1 have upstream's form", () => {
  const { annotations = {} } = fromStored(read(HorizontalPodAutoscaler, whole)).metadata;

  assert.equal(
    JSON.stringify(JSON.parse(annotations[`${prefix}metrics`] ?? "")[1]),
    '{"type":"Object","object":{"target":{"kind":"Service","name":"web"},"metricName":"rps","targetValue":"0","averageValue":"10"}}',
  );
  assert.equal(
    JSON.stringify(JSON.parse(annotations[`${prefix}current-metrics`] ?? "")[1]),
    '{"type":"Pods","pods":{"metricName":"rps","currentAverageValue":"900"}}',
  );
  assert.equal(
    JSON.stringify(JSON.parse(annotations[`${prefix}behavior`] ?? "").ScaleDown),
    '{"StabilizationWindowSeconds":null,"SelectPolicy":"Max","Policies":[{"Type":"Pods","Value":1,"PeriodSeconds":60}],"Tolerance":"50m"}',
  );
});

test("a new autoscaler of autoscaling/v1 has a CPU target, and no status", () => {
  const sent = read(autoscalersV1, {
    ...v1({ [`${prefix}conditions`]: '[{"type":"AbleToScale","status":"True"}]' }),
    status: { currentReplicas: 7 },
  });

  autoscalersV1.prepareForCreate?.(sent);

  assert.deepEqual(sent.spec, { ...spec, minReplicas: 1, targetCPUUtilizationPercentage: 80 });
  assert.deepEqual(sent.status, { currentReplicas: 0, desiredReplicas: 0 });
  assert.equal(sent.metadata.annotations, undefined);
});

test("an update through autoscaling/v1 keeps the status, and one of the status keeps the spec", () => {
  const old = fromStored(read(HorizontalPodAutoscaler, whole));
  const updated = read(autoscalersV1, v1({}, { targetCPUUtilizationPercentage: 70 }));
  const reported = read(autoscalersV1, {
    ...v1({ [`${prefix}conditions`]: '[{"type":"ScalingActive","status":"False"}]' }),
    status: { currentReplicas: 1, desiredReplicas: 1 },
  });

  prepareUpdate(autoscalersV1, { object: updated, old, subresource: "" });
  prepareUpdate(autoscalersV1, { object: reported, old, subresource: "status" });

  assert.deepEqual(toStored(updated).spec.metrics, [
    { type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 70 } } },
  ]);
  assert.deepEqual(toStored(updated).status, toStored(old).status);
  assert.deepEqual(toStored(reported).spec, toStored(old).spec);
  assert.deepEqual(toStored(reported).status, {
    currentReplicas: 1,
    desiredReplicas: 1,
    conditions: [{ type: "ScalingActive", status: "False" }],
  });
});

for (const text of ["", "{", "5", "null", '{"a":1}', '["a"]', '[{"type":3}]', '[{"type":"Pods","pods":7}]', "[null]"]) {
  test(`the annotation ${JSON.stringify(text)} of autoscaling/v1 does no harm`, () => {
    const names = ["metrics", "current-metrics", "conditions", "behavior"];
    const annotations = Object.fromEntries(names.map((name) => [prefix + name, text]));

    const stored = toStored(read(autoscalersV1, v1(annotations, { targetCPUUtilizationPercentage: 50 })));

    assert.deepEqual(stored.spec.metrics?.at(-1), cpu);
    assert.equal(stored.metadata.annotations, undefined);
    assert.equal(stored.spec.behavior, undefined);
  });
}

test("the rules of autoscaling/v1 are those of autoscaling/v2", () => {
  const annotations = { [`${prefix}metrics`]: '[{"type":"Pods","pods":{"metricName":"","targetAverageValue":"1"}}]' };
  const sent = v1(annotations, { maxReplicas: 0, targetCPUUtilizationPercentage: 0 });
  const faults = [
    "spec.maxReplicas: Required value: must be set and greater than 0",
    "spec.maxReplicas: Invalid value: 0: must be greater than or equal to `minReplicas`",
    "spec.metrics[0].pods.metric.name: Required value: must specify a metric name",
    "spec.metrics[1].resource.target.averageUtilization: Invalid value: 0: must be greater than 0",
  ];

  assert.deepEqual(faultsOf(autoscalersV1, sent), faults);
  assert.deepEqual(updateFaultsOf(autoscalersV1, sent, v1()), faults);
  assert.deepEqual(statusFaultsOf(autoscalersV1, { ...v1(), status: { currentReplicas: -1 } }, v1()), [
    "status.currentReplicas: Invalid value: -1: must be greater than or equal to 0",
  ]);
});

test("an annotation that is too long is refused and not read", () => {
  const long = v1({ [`${prefix}conditions`]: `["${"a".repeat(maxAnnotationBytes)}"]` });
  const fault = "metadata.annotations: Too long: may not be more than 262144 bytes";

  assert.deepEqual(faultsOf(autoscalersV1, long), [fault]);
  assert.deepEqual(updateFaultsOf(autoscalersV1, long, v1()), [fault]);
  assert.deepEqual(updateFaultsOf(autoscalersV1, v1(), long), [fault]);
  assert.deepEqual(statusFaultsOf(autoscalersV1, long, v1()), [fault]);
  assert.deepEqual(statusFaultsOf(autoscalersV1, v1(), long), [fault]);
});

test("the columns of autoscaling/v1 are those of autoscaling/v2", () => {
  const stored = read(HorizontalPodAutoscaler, whole);
  const older = fromStored(stored) as never;

  assert.deepEqual(
    autoscalersV1.columns.map(({ value }) => value(older, 0)),
    HorizontalPodAutoscaler.columns.map(({ value }) => value(stored, 0)),
  );
});

test("a row of autoscaling/v1 reads the annotations once, not for each column", () => {
  const older = fromStored(read(HorizontalPodAutoscaler, whole));
  const { annotations } = older.metadata;
  let reads = 0;
  const counted = Object.defineProperty({ ...older.metadata }, "annotations", {
    enumerable: true,
    get() {
      reads++;
      return annotations;
    },
  });

  const row = { ...older, metadata: counted } as never;
  for (const { value } of autoscalersV1.columns) value(row, 0);

  assert.equal(reads, 1);
});
