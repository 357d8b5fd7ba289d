import assert from "node:assert/strict";
import { test } from "node:test";
import { faultsOf, read, statusFaultsOf, updateFaultsOf } from "../faults.suite.ts";
import { HorizontalPodAutoscaler } from "./horizontal-pod-autoscaler.ts";

const metadata = { name: "web", namespace: "default" };
const scaleTargetRef = { apiVersion: "apps/v1", kind: "Deployment", name: "web" };
const scaler = (spec: object) => ({ metadata, spec: { scaleTargetRef, maxReplicas: 5, ...spec } });
const withMetrics = (...metrics: object[]) => scaler({ metrics });
const resource = (target: object) => ({ type: "Resource", resource: { name: "cpu", target } });
const utilization = { type: "Utilization", averageUtilization: 80 };
const at = "spec.metrics[0]";

test("an autoscaler follows the CPU, with at least one pod, by default", () => {
  const { spec } = read(HorizontalPodAutoscaler, scaler({}));

  assert.equal(spec.minReplicas, 1);
  assert.deepEqual(spec.metrics, [resource(utilization)]);
  assert.equal(spec.behavior, undefined);
});

test("the behavior of an autoscaler is filled in where it says nothing", () => {
  const behavior = {
    scaleUp: { tolerance: "50m" },
    scaleDown: { stabilizationWindowSeconds: 60, selectPolicy: "Min" },
  };

  assert.deepEqual(read(HorizontalPodAutoscaler, scaler({ behavior })).spec.behavior, {
    scaleUp: {
      stabilizationWindowSeconds: 0,
      selectPolicy: "Max",
      policies: [
        { type: "Pods", value: 4, periodSeconds: 15 },
        { type: "Percent", value: 100, periodSeconds: 15 },
      ],
      tolerance: "50m",
    },
    scaleDown: {
      stabilizationWindowSeconds: 60,
      selectPolicy: "Min",
      policies: [{ type: "Percent", value: 100, periodSeconds: 15 }],
    },
  });
});

const cases: readonly { name: string; object: object; faults: readonly string[] }[] = [
  { name: "needs only a target and a limit", object: scaler({}), faults: [] },
  {
    name: "takes metrics of all types",
    object: withMetrics(
      resource({ type: "AverageValue", averageValue: "100m" }),
      { type: "Pods", pods: { metric: { name: "rps" }, target: { type: "AverageValue", averageValue: "1k" } } },
      {
        type: "Object",
        object: {
          describedObject: { apiVersion: "v1", kind: "Service", name: "web" },
          metric: { name: "rps" },
          target: { type: "Value", value: "10" },
        },
      },
      { type: "External", external: { metric: { name: "queue" }, target: { type: "Value", value: "3" } } },
      {
        type: "ContainerResource",
        containerResource: { name: "memory", container: "app", target: utilization },
      },
    ),
    faults: [],
  },
  {
    name: "may scale a replication controller",
    object: scaler({ scaleTargetRef: { apiVersion: "v1", kind: "ReplicationController", name: "web" } }),
    faults: [],
  },
  {
    name: "wants a limit",
    object: scaler({ maxReplicas: 0 }),
    faults: [
      "spec.maxReplicas: Required value: must be set and greater than 0",
      "spec.maxReplicas: Invalid value: 0: must be greater than or equal to `minReplicas`",
    ],
  },
  {
    name: "wants a positive limit",
    object: scaler({ maxReplicas: -1, minReplicas: -1 }),
    faults: [
      "spec.minReplicas: Invalid value: -1: must be greater than or equal to 1",
      "spec.maxReplicas: Invalid value: -1: must be greater than or equal to 1",
    ],
  },
  {
    name: "keeps a pod",
    object: scaler({ minReplicas: 0 }),
    faults: [
      "spec.minReplicas: Invalid value: 0: must be greater than or equal to 1",
      "spec.metrics: Forbidden: must specify at least one Object or External metric to support scaling to zero replicas",
    ],
  },
  {
    name: "wants a target with a group",
    object: scaler({ scaleTargetRef: { apiVersion: "v1", kind: "a/b" } }),
    faults: [
      "spec.scaleTargetRef.kind: Invalid value: \"a/b\": may not contain '/'",
      "spec.scaleTargetRef.name: Required value",
      'spec.scaleTargetRef.apiVersion: Invalid value: "v1": apiVersion must specify API group',
    ],
  },
  {
    name: "wants an API version that can be read",
    object: scaler({ scaleTargetRef: { ...scaleTargetRef, apiVersion: "a/b/c" } }),
    faults: ['spec.scaleTargetRef.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c'],
  },
  {
    name: "wants a type for each metric",
    object: withMetrics({}),
    faults: [
      `${at}.type: Required value: must specify a metric source type`,
      `${at}.type: Unsupported value: "": supported values: "ContainerResource", "External", "Object", "Pods", "Resource"`,
      `${at}.type: Unsupported value: "": supported values: "ContainerResource", "External", "Object", "Pods", "Resource"`,
    ],
  },
  {
    name: "wants what the type says",
    object: withMetrics({ ...resource(utilization), type: "Pods" }, { type: "External" }),
    faults: [
      `${at}.pods: Required value: must populate information for the given metric source`,
      "spec.metrics[1].external: Required value: must populate information for the given metric source",
    ],
  },
  {
    name: "wants nothing else",
    object: withMetrics({
      ...resource(utilization),
      pods: { metric: { name: "rps" }, target: { type: "AverageValue", averageValue: "1" } },
    }),
    faults: [`${at}.pods: Forbidden: must populate the given metric source only`],
  },
  {
    name: "wants a target for a resource",
    object: withMetrics({ type: "Resource", resource: {} }),
    faults: [
      `${at}.resource.name: Required value: must specify a resource name`,
      `${at}.resource.target.type: Required value: must specify a metric target type`,
      `${at}.resource.target.type: Invalid value: "": must be either Utilization, Value, or AverageValue`,
      `${at}.resource.target.averageUtilization: Required value: must set either a target raw value or a target utilization`,
    ],
  },
  {
    name: "wants one target for a resource",
    object: withMetrics(resource({ ...utilization, averageUtilization: 0, averageValue: "0" })),
    faults: [
      `${at}.resource.target.averageValue: Invalid value: "0": must be positive`,
      `${at}.resource.target.averageUtilization: Invalid value: 0: must be greater than 0`,
      `${at}.resource.target.averageValue: Forbidden: may not set both a target raw value and a target utilization`,
    ],
  },
  {
    name: "wants a resource of a container that can exist",
    object: withMetrics({
      type: "ContainerResource",
      containerResource: { name: "pods", target: utilization },
    }),
    faults: [
      `${at}.containerResource.name: Invalid value: "pods": must be a standard resource for containers`,
      `${at}.containerResource.container: Required value: must specify a container`,
    ],
  },
  {
    name: "wants a name and an average for a metric of pods",
    object: withMetrics({ type: "Pods", pods: { target: { type: "AverageValue", value: "-1" } } }),
    faults: [
      `${at}.pods.metric.name: Required value: must specify a metric name`,
      `${at}.pods.target.value: Invalid value: "-1": must be positive`,
      `${at}.pods.target.averageValue: Required value: must specify a positive target averageValue`,
    ],
  },
  {
    name: "wants a target for a metric of an object",
    object: withMetrics({
      type: "Object",
      object: { describedObject: { kind: "Service", name: "a" }, metric: { name: "a%" }, target: { type: "Value" } },
    }),
    faults: [
      `${at}.object.metric.name: Invalid value: "a%": may not contain '%'`,
      `${at}.object.target.averageValue: Required value: must set either a target value or averageValue`,
    ],
  },
  {
    name: "wants one target for an external metric",
    object: withMetrics(
      { type: "External", external: { metric: { name: "a" }, target: { type: "Value" } } },
      {
        type: "External",
        external: { metric: { name: "a" }, target: { type: "Value", value: "1", averageValue: "1" } },
      },
    ),
    faults: [
      `${at}.external.target.averageValue: Required value: must set either a target value for metric or a per-pod target`,
      "spec.metrics[1].external.target.value: Forbidden: may not set both a target value for metric and a per-pod target",
    ],
  },
  {
    name: "checks its behavior",
    object: scaler({
      behavior: {
        scaleUp: {
          stabilizationWindowSeconds: 3601,
          selectPolicy: "Any",
          policies: [{ type: "Nodes", value: 0, periodSeconds: 1801 }],
          tolerance: "-1",
        },
        scaleDown: { stabilizationWindowSeconds: -1, policies: [] },
      },
    }),
    faults: [
      "spec.behavior.scaleUp.stabilizationWindowSeconds: Invalid value: 3601: must be less than or equal to 3600",
      'spec.behavior.scaleUp.selectPolicy: Unsupported value: "Any": supported values: "Disabled", "Max", "Min"',
      'spec.behavior.scaleUp.policies[0].type: Unsupported value: "Nodes": supported values: "Percent", "Pods"',
      "spec.behavior.scaleUp.policies[0].value: Invalid value: 0: must be greater than zero",
      "spec.behavior.scaleUp.policies[0].periodSeconds: Invalid value: 1801: must be less than or equal to 1800",
      'spec.behavior.scaleUp.tolerance: Invalid value: "-1": must be greater than or equal to 0',
      "spec.behavior.scaleDown.stabilizationWindowSeconds: Invalid value: -1: must be greater than or equal to zero",
      "spec.behavior.scaleDown.policies: Required value: must specify at least one Policy",
    ],
  },
];
for (const { name, object, faults } of cases) {
  test(`an autoscaler ${name}`, () => {
    assert.deepEqual(faultsOf(HorizontalPodAutoscaler, object), faults);
    assert.deepEqual(updateFaultsOf(HorizontalPodAutoscaler, object, scaler({})), faults);
  });
}

test("the status of an autoscaler has no negative numbers, and only its own writes change it", () => {
  const sent = { ...scaler({}), status: { currentReplicas: -1, desiredReplicas: -2 } };
  const created = read(HorizontalPodAutoscaler, sent);

  HorizontalPodAutoscaler.prepareForCreate?.(created);

  assert.deepEqual(created.status, { desiredReplicas: 0 });
  assert.deepEqual(statusFaultsOf(HorizontalPodAutoscaler, sent, scaler({})), [
    "status.currentReplicas: Invalid value: -1: must be greater than or equal to 0",
    "status.desiredReplicas: Invalid value: -2: must be greater than or equal to 0",
  ]);
});

test("an autoscaler loses the annotations that stand for its fields in autoscaling/v1", () => {
  const annotations = { "autoscaling.alpha.kubernetes.io/metrics": "[]", a: "b" };
  const sent = read(HorizontalPodAutoscaler, { ...scaler({}), metadata: { ...metadata, annotations } });

  HorizontalPodAutoscaler.prepareForCreate?.(sent);

  assert.deepEqual(sent.metadata.annotations, { a: "b" });
});

test("the columns of an autoscaler show current and wanted values", () => {
  const metric = { name: "rps" };
  const described = { kind: "Service", name: "web" };
  const metrics = [
    [resource(utilization), { type: "Resource", resource: { name: "cpu", current: { averageUtilization: 40 } } }],
    [
      resource({ type: "AverageValue", averageValue: "1" }),
      { type: "Resource", resource: { name: "cpu", current: { averageValue: "500m" } } },
    ],
    [
      { type: "Pods", pods: { metric, target: { type: "AverageValue", averageValue: "10" } } },
      { type: "Pods", pods: { metric, current: { averageValue: "7" } } },
    ],
    [
      { type: "External", external: { metric, target: { type: "AverageValue", averageValue: "10" } } },
      { type: "External", external: { metric, current: { averageValue: "8" } } },
    ],
    [
      {
        type: "Object",
        object: { describedObject: described, metric, target: { type: "Value", value: "10" } },
      },
      { type: "Object", object: { describedObject: described, metric, current: { value: "9" } } },
    ],
    [
      { type: "ContainerResource", containerResource: { name: "memory", container: "a", target: utilization } },
      undefined,
    ],
  ];
  const targets = metrics.map(([spec, current]) => {
    const status = { currentMetrics: current ? [current] : [] };
    return cellsOf({ ...withMetrics(spec ?? {}), status })[1];
  });

  assert.deepEqual(targets, ["cpu: 40%/80%", "cpu: 500m/1", "7/10", "8/10 (avg)", "9/10", "memory: <unknown>/80%"]);
  assert.deepEqual(
    cellsOf({ ...withMetrics(...metrics.map(([spec]) => spec ?? {})), status: { currentReplicas: 3 } }),
    ["Deployment/web", "cpu: <unknown>/80%, cpu: <unknown>/1 + 4 more...", "1", 5, 3, "<unknown>"],
  );
});

const cellsOf = (object: object): unknown[] =>
  HorizontalPodAutoscaler.columns.map(({ value }) => value(read(HorizontalPodAutoscaler, object), 0));
