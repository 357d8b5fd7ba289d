import assert from "node:assert/strict";
import { test } from "node:test";
import { faultsOf, read, statusFaultsOf, updateFaultsOf, warningsOfNew } from "../faults.suite.ts";
import { warningsOf } from "../rules.ts";
import { StatefulSet } from "./stateful-set.ts";

const metadata = { name: "db", namespace: "default" };
const labels = { app: "db" };
const container = { name: "db", image: "db:1", volumeMounts: [{ name: "data", mountPath: "/data" }] };
const podSpec = { containers: [container] };
const template = { metadata: { labels }, spec: podSpec };
const claimOf = (storage: string, name = "data") => ({
  metadata: { name },
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage } } },
});
const spec = {
  selector: { matchLabels: labels },
  serviceName: "db",
  template,
  volumeClaimTemplates: [claimOf("1Gi")],
};

test("a StatefulSet gets its defaults", () => {
  const set = read(StatefulSet, { metadata, spec }).spec;

  assert.deepEqual([set.replicas, set.revisionHistoryLimit, set.podManagementPolicy], [1, 10, "OrderedReady"]);
  assert.deepEqual(set.updateStrategy, { type: "RollingUpdate", rollingUpdate: { partition: 0 } });
  assert.deepEqual(set.persistentVolumeClaimRetentionPolicy, { whenDeleted: "Retain", whenScaled: "Retain" });
  const [claim] = set.volumeClaimTemplates ?? [];
  assert.deepEqual([claim?.apiVersion, claim?.kind], ["v1", "PersistentVolumeClaim"]);
  assert.deepEqual([claim?.spec.volumeMode, claim?.status.phase], ["Filesystem", "Pending"]);
});

test("the settings of a rolling update are filled in only with the strategy, or if there are some", () => {
  const strategyOf = (updateStrategy: object) =>
    read(StatefulSet, { metadata, spec: { ...spec, updateStrategy } }).spec.updateStrategy;

  assert.deepEqual(strategyOf({ type: "RollingUpdate" }), { type: "RollingUpdate" });
  assert.deepEqual(strategyOf({ type: "RollingUpdate", rollingUpdate: {} }).rollingUpdate, { partition: 0 });
  assert.deepEqual(strategyOf({ type: "OnDelete" }), { type: "OnDelete" });
});

const mismatch = '{"app":"db"}: `selector` does not match template `labels`';
const pods = (changes: object) => ({ ...spec, template: { ...template, spec: { ...podSpec, ...changes } } });

const cases: readonly { name: string; spec: object; faults: readonly string[] }[] = [
  { name: "takes a good one", spec, faults: [] },
  { name: "needs no service", spec: { ...spec, serviceName: "" }, faults: [] },
  { name: "sets the host names of its pods", spec: pods({ hostname: "no good", subdomain: "a.b" }), faults: [] },
  {
    name: "has claims in place of volumes of the same name",
    spec: pods({
      volumes: [
        { name: "data", emptyDir: {}, secret: { secretName: "a" } },
        { name: "cache", emptyDir: {}, secret: { secretName: "a" } },
      ],
    }),
    faults: ["spec.template.spec.volumes[1].secret: Forbidden: may not specify more than 1 volume type"],
  },
  {
    name: "wants a selector",
    spec: { ...spec, selector: undefined },
    faults: ["spec.selector: Required value", `spec.template.metadata.labels: Invalid value: ${mismatch}`],
  },
  {
    name: "wants a selector that fits its template",
    spec: { ...spec, selector: { matchLabels: { app: "other" } } },
    faults: [`spec.template.metadata.labels: Invalid value: ${mismatch}`],
  },
  {
    name: "wants a selector that can be understood",
    spec: { ...spec, selector: { matchExpressions: [{ key: "app", operator: "In" }] } },
    faults: [
      "spec.selector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
      'spec.selector: Invalid value: {"matchExpressions":[{"key":"app","operator":"In"}]}',
    ],
  },
  {
    name: "runs pods for ever",
    spec: pods({ restartPolicy: "Never", activeDeadlineSeconds: 5 }),
    faults: [
      'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
      "spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in StatefulSet is not Supported",
    ],
  },
  {
    name: "refuses negative numbers",
    spec: { ...spec, replicas: -1, minReadySeconds: -1, ordinals: { start: -1 } },
    faults: ["replicas", "minReadySeconds", "ordinals.start"].map(
      (name) => `spec.${name}: Invalid value: -1: must be greater than or equal to 0`,
    ),
  },
  {
    name: "wants a partition that is not negative",
    spec: { ...spec, updateStrategy: { rollingUpdate: { partition: -1 } } },
    faults: ["spec.updateStrategy.rollingUpdate.partition: Invalid value: -1: must be greater than or equal to 0"],
  },
  {
    name: "knows two ways to start pods",
    spec: { ...spec, podManagementPolicy: "Random" },
    faults: ["spec.podManagementPolicy: Invalid value: \"Random\": must be 'OrderedReady' or 'Parallel'"],
  },
  {
    name: "knows two strategies",
    spec: { ...spec, updateStrategy: { type: "Recreate" } },
    faults: [
      'spec.updateStrategy: Invalid value: {"Type":"Recreate","RollingUpdate":null}: must be \'RollingUpdate\' or \'OnDelete\'',
    ],
  },
  {
    name: "has no rolling update when it waits for deletions",
    spec: { ...spec, updateStrategy: { type: "OnDelete", rollingUpdate: { partition: 1 } } },
    faults: [
      'spec.updateStrategy.rollingUpdate: Invalid value: {"Partition":1,"MaxUnavailable":null}: only allowed for updateStrategy \'RollingUpdate\'',
    ],
  },
  {
    name: "keeps or deletes claims",
    spec: { ...spec, persistentVolumeClaimRetentionPolicy: { whenScaled: "Forget" } },
    faults: [
      'spec.persistentVolumeClaimRetentionPolicy.whenScaled: Unsupported value: "Forget": supported values: "Retain", "Delete"',
    ],
  },
  {
    name: "wants claims that can be made, and the name of a service",
    spec: { ...spec, serviceName: "a.b", volumeClaimTemplates: [{ metadata: { name: "data" }, spec: {} }] },
    faults: [
      "spec.volumeClaimTemplates[0].spec.accessModes: Required value: at least 1 access mode is required",
      "spec.volumeClaimTemplates[0].spec.resources[storage]: Required value",
      'spec.serviceName: Invalid value: "a.b": must not contain dots',
    ],
  },
];
for (const { name, spec, faults } of cases) {
  test(`a StatefulSet ${name}`, () => assert.deepEqual(faultsOf(StatefulSet, { metadata, spec }), faults));
}

test("the name of a StatefulSet is a DNS label", () => {
  assert.deepEqual(faultsOf(StatefulSet, { metadata: { ...metadata, name: "a.b" }, spec }), [
    'metadata.name: Invalid value: "a.b": must not contain dots',
  ]);
});

test("only some fields of a StatefulSet can be changed", () => {
  const before = { metadata, spec };
  const changeTo = (changes: object) =>
    updateFaultsOf(StatefulSet, { metadata, spec: { ...spec, ...changes } }, before);
  const allowed = {
    replicas: 3,
    minReadySeconds: 5,
    revisionHistoryLimit: 2,
    ordinals: { start: 1 },
    updateStrategy: { type: "OnDelete" },
    persistentVolumeClaimRetentionPolicy: { whenDeleted: "Delete" },
    template: { ...template, spec: { containers: [{ ...container, image: "db:2" }] } },
  };
  const refused = [
    "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
  ];

  assert.deepEqual(changeTo(allowed), []);
  assert.deepEqual(changeTo({ serviceName: "not a label" }), refused);
  assert.deepEqual(changeTo({ podManagementPolicy: "Parallel" }), refused);
  assert.deepEqual(changeTo({ volumeClaimTemplates: [claimOf("2Gi")] }), refused);
  assert.deepEqual(changeTo({ volumeClaimTemplates: [claimOf("1024Mi")] }), []);
});

test("the number of unavailable pods is dropped, unless it was there before", () => {
  const updateStrategy = { rollingUpdate: { maxUnavailable: 2 } };
  const set = read(StatefulSet, { metadata, spec: { ...spec, updateStrategy } });
  const old = structuredClone(set);
  StatefulSet.prepareForUpdate?.(set, old);
  assert.equal(set.spec.updateStrategy.rollingUpdate?.maxUnavailable, 2);
  StatefulSet.prepareForCreate?.(set);
  assert.deepEqual(set.spec.updateStrategy.rollingUpdate, { partition: 0 });

  const before = { metadata, spec: { ...spec, updateStrategy } };
  const none = { ...spec, updateStrategy: { rollingUpdate: { maxUnavailable: 0 } } };
  assert.deepEqual(updateFaultsOf(StatefulSet, { metadata, spec: none }, before), [
    "spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: 0: cannot be 0",
  ]);
});

test("the counts of a StatefulSet agree with each other", () => {
  const before = { metadata, spec, status: { replicas: 2, collisionCount: 1 } };
  const status = { replicas: 1, readyReplicas: 0, currentReplicas: 2, availableReplicas: 1 };

  assert.deepEqual(statusFaultsOf(StatefulSet, { metadata, spec, status }, before), [
    "status.currentReplicas: Invalid value: 2: cannot be greater than status.replicas",
    "status.availableReplicas: Invalid value: 1: cannot be greater than status.readyReplicas",
    "status.collisionCount: Invalid value: 0: cannot be decremented",
  ]);
});

test("a StatefulSet warns about parts of bytes and about revisions that are never deleted", () => {
  const odd = { metadata, spec: { ...spec, revisionHistoryLimit: -1, volumeClaimTemplates: [claimOf("1500m")] } };
  const revisions =
    "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended";
  const fraction = 'resources.requests[storage]: fractional byte value "1500m" is invalid, must be an integer';

  assert.deepEqual(warningsOfNew(StatefulSet, odd), [`spec.volumeClaimTemplates[0].${fraction}`, revisions]);
  assert.deepEqual(warningsOf(StatefulSet, read(StatefulSet, odd), read(StatefulSet, odd)), [
    `spec.volumeClaimTemplates[0].Spec.${fraction}`,
    revisions,
  ]);
});

test("the columns of a StatefulSet show its pods", () => {
  const set = read(StatefulSet, {
    metadata,
    spec: { ...spec, replicas: 3 },
    status: { replicas: 2, readyReplicas: 1 },
  });

  const cells = StatefulSet.columns.map(({ value }) => value(set, 0));

  assert.deepEqual(cells, ["1/3", "<unknown>", "db", "db:1"]);
});
