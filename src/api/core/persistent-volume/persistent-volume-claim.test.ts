import assert from "node:assert/strict";
import { test } from "node:test";
import { faultsOf, read, statusFaultsOf, updateFaultsOf, warningsOfNew } from "#api/faults.suite.ts";
import { PersistentVolumeClaim } from "./persistent-volume-claim.ts";

const metadata = { name: "data", namespace: "default" };
const sized = (storage: string) => ({ requests: { storage } });
const base = { accessModes: ["ReadWriteOnce"], resources: sized("10Gi") };
const claim = (spec: object = {}, status: object = {}) => ({ metadata, spec: { ...base, ...spec }, status });
const bound = (spec: object = {}, status: object = {}) =>
  claim({ volumeName: "pv", ...spec }, { phase: "Bound", capacity: { storage: "10Gi" }, ...status });
const classAnnotation = "volume.beta.kubernetes.io/storage-class";
const annotated = (name: string, spec: object = {}) => ({
  ...claim(spec),
  metadata: { ...metadata, annotations: { [classAnnotation]: name } },
});

test("a PersistentVolumeClaim gets its defaults, and amounts are rounded up", () => {
  const { spec, status } = read(PersistentVolumeClaim, claim({ resources: { limits: { storage: "1u" } } }));

  assert.deepEqual(
    [spec.volumeMode, spec.resources.limits, status.phase],
    ["Filesystem", { storage: "1m" }, "Pending"],
  );
});

test("a PersistentVolumeClaim shows its volume once it has one", () => {
  const shownOf = (object: object) =>
    PersistentVolumeClaim.columns.map(({ value }) => value(read(PersistentVolumeClaim, object), 0));

  assert.deepEqual(shownOf(claim({ storageClassName: "fast" })), [
    ...["Pending", "", "", "", "fast", "<unset>", "<unknown>", "Filesystem"],
  ]);
  const status = { accessModes: ["ReadWriteOncePod"] };
  assert.deepEqual(shownOf(bound({ volumeAttributesClassName: "gold" }, status)), [
    ...["Bound", "pv", "10Gi", "RWOP", "", "gold", "<unknown>", "Filesystem"],
  ]);
});

const modes = '"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"';
const cases = [
  { name: "takes a good spec", object: claim({ storageClassName: "", volumeMode: "Block" }), faults: [] },
  {
    name: "needs a mode and a size",
    object: { metadata },
    faults: [
      "spec.accessModes: Required value: at least 1 access mode is required",
      "spec.resources[storage]: Required value",
    ],
  },
  {
    name: "knows the modes, and asks for some storage",
    object: claim({
      accessModes: ["Any", "ReadWriteOncePod", "ReadOnlyMany"],
      resources: sized("0"),
      volumeMode: "Tape",
    }),
    faults: [
      'spec.volumeMode: Unsupported value: "Tape": supported values: "Block", "Filesystem"',
      `spec.accessModes: Unsupported value: "Any": supported values: ${modes}`,
      "spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes",
      'spec.resources[storage]: Invalid value: "0": must be greater than zero',
    ],
  },
  {
    name: "has one source of its content",
    object: claim({
      dataSource: { kind: "PersistentVolumeClaim", name: "a" },
      dataSourceRef: { kind: "PersistentVolumeClaim", name: "b" },
    }),
    faults: ['spec: Invalid value: "spec.dataSource": must match dataSourceRef'],
  },
];
for (const { name, object, faults } of cases) {
  test(`a PersistentVolumeClaim ${name}`, () => assert.deepEqual(faultsOf(PersistentVolumeClaim, object), faults));
}

const snapshot = { apiGroup: "snapshot.storage.k8s.io", kind: "VolumeSnapshot", name: "s" };
const other = { apiGroup: "example.com", kind: "Image", name: "i" };
const sources = [
  { name: "copies a source to the newer field", spec: { dataSource: snapshot }, source: snapshot, ref: snapshot },
  { name: "copies a source to the older field", spec: { dataSourceRef: other }, source: other, ref: other },
  { name: "drops other kinds from the older field", spec: { dataSource: other } },
  { name: "drops a source in another namespace", spec: { dataSourceRef: { ...other, namespace: "n" } } },
];
for (const { name, spec, source, ref } of sources) {
  test(`a new PersistentVolumeClaim ${name}`, () => {
    const created = read(PersistentVolumeClaim, claim(spec));
    PersistentVolumeClaim.prepareForCreate?.(created);

    assert.deepEqual([created.spec.dataSource, created.spec.dataSourceRef], [source, ref]);
  });
}

test("a PersistentVolumeClaim keeps a source that it has only in one field", () => {
  assert.deepEqual(
    updateFaultsOf(PersistentVolumeClaim, claim({ dataSource: other }), claim({ dataSourceRef: other })),
    [],
  );
});

const immutable =
  "spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";
const shrunk = "spec.resources.requests.storage: Forbidden: field can not be less than status.capacity";
const attributes = "spec.volumeAttributesClassName: Forbidden: update to";
const changes = [
  { name: "gets its volume once", before: claim(), after: claim({ volumeName: "pv" }), faults: [] },
  { name: "keeps its volume", before: bound(), after: bound({ volumeName: "other" }), faults: [immutable] },
  { name: "grows when it is bound", before: bound(), after: bound({ resources: sized("20Gi") }), faults: [] },
  { name: "does not grow before", before: claim(), after: claim({ resources: sized("20Gi") }), faults: [immutable] },
  {
    name: "may ask for less after a growth that failed",
    before: bound({ resources: sized("20Gi") }),
    after: bound({ resources: sized("15Gi") }),
    faults: [],
  },
  {
    name: "does not shrink",
    before: bound({ resources: sized("20Gi") }),
    after: bound({ resources: sized("10Gi") }),
    faults: [shrunk],
  },
  { name: "keeps its modes", before: bound(), after: bound({ accessModes: ["ReadOnlyMany"] }), faults: [immutable] },
  {
    name: "keeps its volume mode",
    before: bound(),
    after: bound({ volumeMode: "Block" }),
    faults: [immutable, 'volumeMode: Invalid value: "Block": field is immutable'],
  },
  { name: "gets a class", before: claim(), after: claim({ storageClassName: "fast" }), faults: [] },
  {
    name: "keeps its class",
    before: claim({ storageClassName: "fast" }),
    after: claim({ storageClassName: "slow" }),
    faults: [immutable],
  },
  {
    name: "moves its class from the annotation to the field",
    before: annotated("fast"),
    after: claim({ storageClassName: "fast" }),
    faults: [],
  },
  {
    name: "keeps the class in its annotation",
    before: annotated("fast"),
    after: annotated("slow", { storageClassName: "slow" }),
    faults: [immutable, `metadata.annotations.${classAnnotation}: Invalid value: "slow": field is immutable`],
  },
  {
    name: "gets other attributes when it is bound",
    before: bound({ volumeAttributesClassName: "gold" }),
    after: bound({ volumeAttributesClassName: "silver" }),
    faults: [],
  },
  {
    name: "gets no other attributes before",
    before: claim({ volumeAttributesClassName: "gold" }),
    after: claim({ volumeAttributesClassName: "silver" }),
    faults: [immutable],
  },
  {
    name: "may drop attributes that were never in effect",
    before: bound({ volumeAttributesClassName: "gold" }),
    after: bound(),
    faults: [],
  },
  {
    name: "does not drop attributes that are in effect",
    before: bound({ volumeAttributesClassName: "gold" }, { currentVolumeAttributesClassName: "gold" }),
    after: bound(),
    faults: [`${attributes} nil is forbidden when status.currentVolumeAttributesClassName is not nil`],
  },
  {
    name: "does not empty attributes that are in effect",
    before: bound({ volumeAttributesClassName: "gold" }, { currentVolumeAttributesClassName: "gold" }),
    after: bound({ volumeAttributesClassName: "" }),
    faults: [`${attributes} empty string is forbidden when status.currentVolumeAttributesClassName is not nil`],
  },
];
for (const { name, before, after, faults } of changes) {
  test(`a PersistentVolumeClaim ${name}`, () => {
    const found = updateFaultsOf(PersistentVolumeClaim, after, before).map((fault) => fault.split("\n", 1)[0]);

    assert.deepEqual(found.sort(), faults.toSorted());
  });
}

test("a change of a PersistentVolumeClaim that is refused is shown", () => {
  const [fault = ""] = updateFaultsOf(PersistentVolumeClaim, bound({ volumeName: "other" }), bound());

  assert.match(fault, /\n- "volumeName": "pv",\n\+ "volumeName": "other",\n/);
});

test("the status of a PersistentVolumeClaim is checked", () => {
  const states =
    '"ControllerResizeInProgress", "ControllerResizeInfeasible", "NodeResizeInProgress", "NodeResizeInfeasible", "NodeResizePending"';
  const status = {
    phase: "Bound",
    capacity: { storage: "-5" },
    allocatedResources: { storage: "-1", cpu: "1", "example.com/x": "1" },
    allocatedResourceStatuses: { storage: "Growing", memory: "NodeResizePending" },
  };

  assert.deepEqual(statusFaultsOf(PersistentVolumeClaim, claim({}, status), claim()), [
    "status.capacity[storage]: Invalid value: -5: must be a valid resource quantity",
    `status.allocatedResourceStatuses: Unsupported value: "storage": supported values: ${states}`,
    'status.allocatedResourceStatuses: Unsupported value: "memory": supported values: "storage"',
    "status.allocatedResources[storage]: Invalid value: -1: must be a valid resource quantity",
    'status.allocatedResources: Unsupported value: "cpu": supported values: "storage"',
  ]);
  const good = {
    phase: "Bound",
    capacity: { storage: "1Gi" },
    allocatedResourceStatuses: { storage: "NodeResizePending" },
  };
  assert.deepEqual(statusFaultsOf(PersistentVolumeClaim, claim({}, good), claim()), []);
  assert.deepEqual(statusFaultsOf(PersistentVolumeClaim, { metadata }, { metadata }), [
    "Spec.accessModes: Required value",
  ]);
});

test("a PersistentVolumeClaim warns of the old annotation and of parts of bytes", () => {
  const resources = { requests: { storage: "500m" }, limits: { storage: "1500m" } };

  assert.deepEqual(warningsOfNew(PersistentVolumeClaim, annotated("fast", { resources })), [
    `metadata.annotations[${classAnnotation}]: deprecated since v1.8; use "storageClassName" attribute instead`,
    'spec.resources.requests[storage]: fractional byte value "500m" is invalid, must be an integer',
    'spec.resources.limits[storage]: fractional byte value "1500m" is invalid, must be an integer',
  ]);
});
