import assert from "node:assert/strict";
import { test } from "node:test";
import { faultsOf, read, updateFaultsOf, warningsOfNew } from "../faults.suite.ts";
import { isDefaultClass, StorageClass } from "./storage-class.ts";

const fast = { metadata: { name: "fast" }, provisioner: "csi.example.com" };
const term = (...expressions: object[]) => ({ matchLabelExpressions: expressions });

test("a StorageClass gets its defaults and shows them", () => {
  const annotations = { "storageclass.kubernetes.io/is-default-class": "true" };
  const storageClass = read(StorageClass, { ...fast, metadata: { name: "fast", annotations } });

  assert.equal(isDefaultClass(storageClass), true);
  assert.deepEqual(
    StorageClass.columns.map(({ name, value }) => [name, value(storageClass, 0)]),
    [
      ["Name", "fast (default)"],
      ["Provisioner", "csi.example.com"],
      ["ReclaimPolicy", "Delete"],
      ["VolumeBindingMode", "Immediate"],
      ["AllowVolumeExpansion", false],
      ["Age", "<unknown>"],
    ],
  );
});

const cases = [
  {
    name: "takes good settings",
    object: {
      ...fast,
      parameters: { type: "ssd" },
      reclaimPolicy: "Retain",
      volumeBindingMode: "WaitForFirstConsumer",
      allowedTopologies: [term({ key: "zone", values: ["a", "b"] }), term({ key: "zone", values: ["c"] })],
    },
    faults: [],
  },
  { name: "needs a provisioner", object: { ...fast, provisioner: "" }, faults: ["provisioner: Required value"] },
  {
    name: "checks the name of its provisioner in lower case",
    object: { ...fast, provisioner: "A/b/c" },
    faults: [
      `provisioner: Invalid value: "a/b/c": a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ],
  },
  {
    name: "does not recycle volumes",
    object: { ...fast, reclaimPolicy: "Recycle", volumeBindingMode: "Later" },
    faults: [
      'volumeBindingMode: Unsupported value: "Later": supported values: "Immediate", "WaitForFirstConsumer"',
      'reclaimPolicy: Unsupported value: "Recycle": supported values: "Delete", "Retain"',
    ],
  },
  { name: "may have an empty reclaim policy", object: { ...fast, reclaimPolicy: "" }, faults: [] },
  {
    name: "has names for all parameters",
    object: { ...fast, parameters: { "": "x" } },
    faults: ['parameters: Invalid value: "": field can not be empty.'],
  },
  {
    name: "has a limited number of parameters",
    object: { ...fast, parameters: Object.fromEntries(Array.from({ length: 513 }, (_, at) => [`p${at}`, ""])) },
    faults: ["parameters: Too long: may not be more than 512 bytes"],
  },
  {
    name: "has parameters of limited size",
    object: { ...fast, parameters: { a: "x".repeat(256 * 1024) } },
    faults: ["parameters: Too long: may not be more than 262144 bytes"],
  },
  {
    name: "has conditions with a key and values",
    object: {
      ...fast,
      allowedTopologies: [
        term({ key: "zone", values: [] }, { key: "rack", values: ["1", "1"] }, { key: "rack", values: ["2"] }),
      ],
    },
    faults: [
      "allowedTopologies[0].matchLabelExpressions[0].values: Required value",
      'allowedTopologies[0].matchLabelExpressions[1].values[1]: Duplicate value: "1"',
      'allowedTopologies[0].matchLabelExpressions[2].key: Duplicate value: "rack"',
    ],
  },
  {
    name: "has no two topologies that mean the same, and none without conditions",
    object: {
      ...fast,
      allowedTopologies: [
        term({ key: "zone", values: ["a", "b"] }, { key: "rack", values: ["1"] }),
        term({ key: "rack", values: ["1"] }, { key: "zone", values: ["b", "a"] }),
        {},
      ],
    },
    faults: [
      'allowedTopologies[1].matchLabelExpressions: Duplicate value: ""',
      'allowedTopologies[2].matchLabelExpressions: Duplicate value: ""',
    ],
  },
];
for (const { name, object, faults } of cases) {
  test(`a StorageClass ${name}`, () => assert.deepEqual(faultsOf(StorageClass, object), faults));
}

test("only some settings of a StorageClass can change", () => {
  const changed = {
    ...fast,
    provisioner: "other.example.com",
    parameters: { a: "b" },
    reclaimPolicy: "Retain",
    volumeBindingMode: "WaitForFirstConsumer",
    mountOptions: ["ro"],
    allowVolumeExpansion: true,
  };

  assert.deepEqual(updateFaultsOf(StorageClass, changed, fast), [
    'parameters: Invalid value: {"a":"b"}: field is immutable',
    'provisioner: Invalid value: "other.example.com": field is immutable',
    'reclaimPolicy: Invalid value: "Retain": field is immutable',
    'volumeBindingMode: Invalid value: "WaitForFirstConsumer": field is immutable',
  ]);
  assert.deepEqual(
    updateFaultsOf(StorageClass, { ...fast, mountOptions: ["ro"], allowVolumeExpansion: true }, fast),
    [],
  );
});

test("a StorageClass warns of labels that have a new name", () => {
  const allowedTopologies = [term({ key: "failure-domain.beta.kubernetes.io/zone", values: ["a"] })];

  assert.deepEqual(warningsOfNew(StorageClass, { ...fast, allowedTopologies }), [
    'allowedTopologies[0].matchLabelExpressions[0].key: deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
  ]);
});
