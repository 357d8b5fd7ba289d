import assert from "node:assert/strict";
import { test } from "node:test";
import { faultsOf, read, statusFaultsOf, updateFaultsOf, warningsOfNew } from "../faults.suite.ts";
import { type Resource } from "../resource.ts";
import { Deployment } from "./deployment.ts";
import { ReplicaSet } from "./replica-set.ts";

const metadata = { name: "web", namespace: "default" };
const template = { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "web", image: "web:1" }] } };
const spec = { selector: { matchLabels: { app: "web" } }, template };

test("a Deployment gets its defaults", () => {
  const deployment = read(Deployment, { metadata, spec });

  assert.equal(deployment.spec.replicas, 1);
  assert.equal(deployment.spec.revisionHistoryLimit, 10);
  assert.equal(deployment.spec.progressDeadlineSeconds, 600);
  assert.deepEqual(deployment.spec.strategy, {
    type: "RollingUpdate",
    rollingUpdate: { maxUnavailable: "25%", maxSurge: "25%" },
  });
  assert.equal(deployment.spec.template.spec.restartPolicy, "Always");
});

const cases = [
  { name: "takes a good one", spec, faults: [] },
  { name: "can be scaled to nothing", spec: { ...spec, replicas: 0 }, faults: [] },
  {
    name: "wants a selector that can be understood",
    spec: { ...spec, selector: { matchExpressions: [{ key: "app", operator: "In" }] } },
    faults: [
      "spec.selector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
      'spec.selector: Invalid value: {"matchExpressions":[{"key":"app","operator":"In"}]}: invalid label selector',
    ],
  },
  {
    name: "wants a selector that fits its template",
    spec: { template },
    faults: [
      "spec.selector: Required value",
      'spec.template.metadata.labels: Invalid value: {"app":"web"}: `selector` does not match template `labels`',
    ],
  },
  {
    name: "refuses negative numbers",
    spec: { ...spec, replicas: -1 },
    faults: ["spec.replicas: Invalid value: -1: must be greater than or equal to 0"],
  },
  {
    name: "wants a rollout that can move",
    spec: { ...spec, strategy: { rollingUpdate: { maxUnavailable: 0, maxSurge: "0%" } } },
    faults: ["spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0"],
  },
  {
    name: "can lose no more than it has",
    spec: { ...spec, strategy: { rollingUpdate: { maxUnavailable: "101%" } } },
    faults: ['spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "101%": must not be greater than 100%'],
  },
  {
    name: "has no rolling update when it recreates",
    spec: { ...spec, strategy: { type: "Recreate", rollingUpdate: {} } },
    faults: ["spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'"],
  },
  {
    name: "runs pods for ever",
    spec: {
      ...spec,
      template: { ...template, spec: { ...template.spec, restartPolicy: "Never", activeDeadlineSeconds: 5 } },
    },
    faults: [
      'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
      "spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ReplicaSet is not Supported",
    ],
  },
  {
    name: "gives a pod time to be ready",
    spec: { ...spec, minReadySeconds: 600 },
    faults: ["spec.progressDeadlineSeconds: Invalid value: 600: must be greater than minReadySeconds"],
  },
];
for (const { name, spec: wanted, faults } of cases) {
  test(`a Deployment ${name}`, () => assert.deepEqual(faultsOf(Deployment, { metadata, spec: wanted }), faults));
}

const kinds: readonly Resource[] = [Deployment, ReplicaSet];
for (const resource of kinds) {
  test(`the selector of a ${resource.kind} cannot be changed`, () => {
    const labels = { app: "web", tier: "front" };
    const changed = { selector: { matchLabels: labels }, template: { ...template, metadata: { labels } } };

    assert.deepEqual(updateFaultsOf(resource, { metadata, spec: changed }, { metadata, spec }), [
      'spec.selector: Invalid value: {"matchLabels":{"app":"web","tier":"front"}}: field is immutable',
    ]);
  });

  test(`the counts of a ${resource.kind} agree with each other`, () => {
    const status = { replicas: 1, readyReplicas: 2, availableReplicas: -1 };

    assert.deepEqual(statusFaultsOf(resource, { metadata, spec, status }, { metadata, spec }), [
      "status.availableReplicas: Invalid value: -1: must be greater than or equal to 0",
      "status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas",
    ]);
  });
}

test("a change of annotations is a new generation of a Deployment", () => {
  const old = read(Deployment, { metadata: { ...metadata, generation: 4 }, spec });
  const deployment = read(Deployment, { metadata: { ...metadata, generation: 4, annotations: { a: "b" } }, spec });

  Deployment.prepareForUpdate?.(deployment, old);

  assert.equal(deployment.metadata.generation, 5);
});

test("a name that is no DNS label is taken with a warning", () => {
  const warnings = warningsOfNew(Deployment, { metadata: { name: "a.b" }, spec });

  assert.deepEqual(warnings, [
    "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [must not contain dots]",
  ]);
});

test("the columns of a ReplicaSet show its numbers", () => {
  const set = read(ReplicaSet, { metadata, spec: { ...spec, replicas: 3 }, status: { replicas: 2, readyReplicas: 1 } });

  const cells = ReplicaSet.columns.map(({ value }) => value(set, 0));

  assert.deepEqual(cells, [3, 2, 1, "<unknown>", "web", "web:1", "app=web"]);
});
