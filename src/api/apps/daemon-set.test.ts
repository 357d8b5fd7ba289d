import assert from "node:assert/strict";
import { test } from "node:test";
import { faultsOf, read, statusFaultsOf, updateFaultsOf, warningsOfNew } from "../faults.suite.ts";
import { DaemonSet } from "./daemon-set.ts";

const metadata = { name: "agent", namespace: "default" };
const container = { name: "agent", image: "agent:1" };
const template = { metadata: { labels: { app: "agent" } }, spec: { containers: [container] } };
const spec = { selector: { matchLabels: { app: "agent" } }, template };
const rolling = (rollingUpdate: object) => ({ ...spec, updateStrategy: { rollingUpdate } });
const generation = "deprecated.daemonset.template.generation";

test("a DaemonSet gets its defaults", () => {
  const set = read(DaemonSet, { metadata, spec }).spec;

  assert.equal(set.revisionHistoryLimit, 10);
  assert.deepEqual(set.updateStrategy, { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 1, maxSurge: 0 } });
  assert.deepEqual(
    read(DaemonSet, { metadata, spec: { ...spec, updateStrategy: { type: "OnDelete" } } }).spec.updateStrategy,
    {
      type: "OnDelete",
    },
  );
});

const mismatch = "`selector` does not match template `labels`";
const cases: readonly { name: string; spec: object; faults: readonly string[] }[] = [
  { name: "takes a good one", spec, faults: [] },
  { name: "takes a surge", spec: rolling({ maxUnavailable: 0, maxSurge: "10%" }), faults: [] },
  {
    name: "wants a selector",
    spec: { template },
    faults: [`spec.template.metadata.labels: Invalid value: {"app":"agent"}: ${mismatch}`],
  },
  {
    name: "wants a selector that fits its template",
    spec: { ...spec, selector: { matchLabels: { app: "other" } } },
    faults: [`spec.template.metadata.labels: Invalid value: {"app":"agent"}: ${mismatch}`],
  },
  {
    name: "wants a selector that can be understood",
    spec: { ...spec, selector: { matchExpressions: [{ key: "app", operator: "In" }] } },
    faults: [
      "spec.selector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
    ],
  },
  {
    name: "runs pods for ever",
    spec: {
      ...spec,
      template: { ...template, spec: { ...template.spec, restartPolicy: "Never", activeDeadlineSeconds: 5 } },
    },
    faults: [
      'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
      "spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in DaemonSet is not Supported",
    ],
  },
  {
    name: "refuses negative numbers",
    spec: { ...spec, minReadySeconds: -1, revisionHistoryLimit: -1 },
    faults: ["minReadySeconds", "revisionHistoryLimit"].map(
      (name) => `spec.${name}: Invalid value: -1: must be greater than or equal to 0`,
    ),
  },
  {
    name: "knows two strategies",
    spec: { ...spec, updateStrategy: { type: "Recreate" } },
    faults: [
      'spec.updateStrategy: Unsupported value: {"Type":"Recreate","RollingUpdate":null}: supported values: "RollingUpdate", "OnDelete"',
    ],
  },
  {
    name: "wants an update that can move",
    spec: rolling({ maxUnavailable: 0 }),
    faults: ["spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when maxSurge is 0"],
  },
  {
    name: "moves in one way",
    spec: rolling({ maxSurge: 1 }),
    faults: [
      "spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: 1: may not be set when maxUnavailable is non-zero",
    ],
  },
  {
    name: "can lose no more than it has",
    spec: rolling({ maxUnavailable: "101%" }),
    faults: ['spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: "101%": must not be greater than 100%'],
  },
];
for (const { name, spec, faults } of cases) {
  test(`a DaemonSet ${name}`, () => assert.deepEqual(faultsOf(DaemonSet, { metadata, spec }), faults));
}

test("the selector of a DaemonSet cannot be changed", () => {
  const labels = { app: "agent", tier: "node" };
  const changed = { selector: { matchLabels: labels }, template: { ...template, metadata: { labels } } };

  assert.deepEqual(updateFaultsOf(DaemonSet, { metadata, spec: changed }, { metadata, spec }), [
    'spec.selector: Invalid value: {"matchLabels":{"app":"agent","tier":"node"}}: field is immutable',
  ]);
});

test("a DaemonSet counts the changes of its template", () => {
  const old = read(DaemonSet, { metadata: { ...metadata, annotations: { [generation]: "0" } }, spec });
  DaemonSet.prepareForCreate?.(old);
  const same = read(DaemonSet, { metadata: { ...metadata, annotations: { [generation]: "7" } }, spec });
  DaemonSet.prepareForUpdate?.(same, old);
  const changed = read(DaemonSet, {
    metadata,
    spec: { ...spec, template: { ...template, spec: { containers: [{ ...container, image: "agent:2" }] } } },
  });
  DaemonSet.prepareForUpdate?.(changed, old);

  assert.deepEqual(
    [old, same, changed].map(({ metadata }) => metadata.annotations?.[generation]),
    ["1", "1", "2"],
  );
});

test("a DaemonSet whose count is no number is refused", () => {
  const set = { metadata: { ...metadata, annotations: { [generation]: "many" } }, spec };

  assert.throws(() => read(DaemonSet, set), { message: /strconv\.ParseInt: parsing "many"/ });
});

test("the counts of a DaemonSet are not negative, and collisions are not forgotten", () => {
  const counts = { currentNumberScheduled: 1, numberMisscheduled: 0, desiredNumberScheduled: 1, numberReady: -1 };
  const old = { metadata, spec, status: { ...counts, collisionCount: 2 } };

  assert.deepEqual(statusFaultsOf(DaemonSet, { ...old, status: counts }, old), [
    "status.numberReady: Invalid value: -1: must be greater than or equal to 0",
    "status.collisionCount: Invalid value: 0: cannot be decremented",
  ]);
});

test("a DaemonSet warns about its template", () => {
  const nodeSelector = { "beta.kubernetes.io/os": "linux" };
  const pods = { ...template, spec: { ...template.spec, nodeSelector } };

  assert.deepEqual(warningsOfNew(DaemonSet, { metadata, spec: { ...spec, template: pods } }), [
    'spec.template.spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead',
  ]);
});

test("the columns of a DaemonSet show its nodes", () => {
  const status = { currentNumberScheduled: 2, numberMisscheduled: 0, desiredNumberScheduled: 3, numberReady: 1 };
  const pods = { ...template, spec: { ...template.spec, nodeSelector: { disk: "ssd" } } };
  const set = read(DaemonSet, {
    metadata,
    spec: { ...spec, template: pods },
    status: { ...status, numberAvailable: 1 },
  });

  const cells = DaemonSet.columns.map(({ value }) => value(set, 0));

  assert.deepEqual(cells, [3, 2, 1, 0, 1, "disk=ssd", "<unknown>", "agent", "agent:1", "app=agent"]);
});
