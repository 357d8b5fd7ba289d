import assert from "node:assert/strict";
import { test } from "node:test";
import { faultsOf, read, statusFaultsOf, warningsOfNew } from "../faults.suite.ts";
import { PodTemplate } from "./pod-template.ts";
import { ReplicationController } from "./replication-controller.ts";

const metadata = { name: "web", namespace: "default" };
const labels = { app: "web" };
const template = { metadata: { labels }, spec: { containers: [{ name: "web", image: "web:1" }] } };

test("a ReplicationController takes selector and labels from its template", () => {
  const controller = read(ReplicationController, { metadata, spec: { template } });

  assert.equal(controller.spec.replicas, 1);
  assert.deepEqual(controller.spec.selector, labels);
  assert.deepEqual(controller.metadata.labels, labels);
  assert.deepEqual(
    ReplicationController.columns.map(({ value }) => value(controller, 0)),
    [1, 0, 0, "<unknown>", "web", "web:1", "app=web"],
  );
});

const cases = [
  { name: "takes a good one", spec: { template }, faults: [] },
  {
    name: "wants a selector and a template",
    spec: { replicas: -1 },
    faults: [
      "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
      "spec.selector: Required value",
      "spec.template: Required value",
    ],
  },
  {
    name: "wants a selector that fits its template",
    spec: { selector: { app: "other" }, template },
    faults: [
      'spec.template.metadata.labels: Invalid value: {"app":"web"}: `selector` does not match template `labels`',
    ],
  },
  {
    name: "runs pods for ever",
    spec: { template: { ...template, spec: { ...template.spec, restartPolicy: "Never", activeDeadlineSeconds: 5 } } },
    faults: [
      'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
      "spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ReplicationController is not Supported",
    ],
  },
];
for (const { name, spec, faults } of cases) {
  test(`a ReplicationController ${name}`, () =>
    assert.deepEqual(faultsOf(ReplicationController, { metadata, spec }), faults));
}

test("the counts of a ReplicationController agree with each other", () => {
  const status = { replicas: 1, readyReplicas: 2, availableReplicas: 3 };
  const controller = { metadata, spec: { template } };

  assert.deepEqual(statusFaultsOf(ReplicationController, { ...controller, status }, controller), [
    "status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas",
    "status.availableReplicas: Invalid value: 3: cannot be greater than status.replicas",
    "status.availableReplicas: Invalid value: 3: cannot be greater than readyReplicas",
  ]);
});

test("a ReplicationController whose name is no DNS label is taken with a warning", () => {
  const [warning = ""] = warningsOfNew(ReplicationController, { metadata: { name: "a.b" }, spec: { template } });

  assert.match(warning, /^metadata\.name: this is used in Pod names and hostnames/);
});

test("a PodTemplate is checked at its own path, and shows what would run", () => {
  const bad = { ...template, spec: { containers: [{ name: "Web", image: "web:1" }] } };
  const [fault = ""] = faultsOf(PodTemplate, { metadata, template: bad });

  assert.deepEqual(faultsOf(PodTemplate, { metadata, template }), []);
  assert.match(fault, /^template\.spec\.containers\[0\]\.name: Invalid value: "Web"/);
  assert.deepEqual(
    PodTemplate.columns.map(({ value }) => value(read(PodTemplate, { metadata, template }), 0)),
    ["web", "web:1", "app=web"],
  );
});
