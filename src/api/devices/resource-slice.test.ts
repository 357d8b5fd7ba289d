import assert from "node:assert/strict";
import { test } from "node:test";
import { faultsOf, read, updateFaultsOf, warningsOfNew } from "../faults.suite.ts";
import { ResourceSlice } from "./resource-slice.ts";

const metadata = { name: "node-1-gpu" };
const pool = { name: "node-1", generation: 1, resourceSliceCount: 1 };
const base = { driver: "gpu.example.com", pool, nodeName: "node-1" };
const sliceOf = (spec: object) => ({ metadata, spec: { ...base, ...spec } });
const faultsOfSpec = (spec: object): string[] => faultsOf(ResourceSlice, sliceOf(spec));

const selector = { nodeSelectorTerms: [{ matchExpressions: [{ key: "gpu", operator: "Exists" }] }] };
const label =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const oneOfNodes = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";
const counters = { memory: { value: "1Gi" } };
const named = (count: number, part: object = {}) =>
  Array.from({ length: count }, (_, index) => ({ name: `gpu-${index}`, ...part }));

const cases: { name: string; spec: object; faults: string[] }[] = [
  { name: "takes one without devices", spec: {}, faults: [] },
  { name: "takes one with counters", spec: { sharedCounters: [{ name: "gpu-0", counters }] }, faults: [] },
  {
    name: "wants a driver and a pool",
    spec: { driver: "", pool: {} },
    faults: [
      "spec.driver: Required value",
      "spec.pool.name: Required value",
      "spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero",
    ],
  },
  {
    name: "checks each part of the pool's name and its generation",
    spec: { pool: { name: "a/B", generation: -1, resourceSliceCount: 1 } },
    faults: [
      `spec.pool.name: Invalid value: "B": ${subdomain}`,
      "spec.pool.generation: Invalid value: -1: must be greater than or equal to zero",
    ],
  },
  {
    name: "limits the pool's name",
    spec: { pool: { ...pool, name: `${"a".repeat(150)}/${"a".repeat(150)}` } },
    faults: ["spec.pool.name: Too long: may not be more than 253 bytes"],
  },
  { name: "wants to know its nodes", spec: { nodeName: undefined }, faults: [`spec: Required value: ${oneOfNodes}`] },
  {
    name: "wants to know its nodes in one way only",
    spec: { allNodes: true, perDeviceNodeSelection: true },
    faults: [
      `spec: Invalid value: "{\`nodeName\`, \`allNodes\`, \`perDeviceNodeSelection\`}": ${oneOfNodes}, but multiple fields are set`,
    ],
  },
  {
    name: "takes no empty choice of nodes",
    spec: { nodeName: "", allNodes: false, perDeviceNodeSelection: false },
    faults: [
      'spec.nodeName: Invalid value: "": must be either unset or set to a non-empty string',
      "spec.allNodes: Invalid value: false: must be either unset or set to true",
      "spec.perDeviceNodeSelection: Invalid value: false: must be either unset or set to true",
      `spec: Required value: ${oneOfNodes}`,
    ],
  },
  {
    name: "wants a selector of exactly one term",
    spec: { nodeName: undefined, nodeSelector: { nodeSelectorTerms: [] } },
    faults: [
      "spec.nodeSelector.nodeSelectorTerms: Required value: must have at least one node selector term",
      "spec.nodeSelector.nodeSelectorTerms: Invalid value: []: must have exactly one node selector term",
    ],
  },
  {
    name: "has devices or counters",
    spec: { devices: named(1), sharedCounters: [{ name: "gpu-0", counters }] },
    faults: ['spec: Invalid value: "": only one of `sharedCounters` or `devices` is allowed'],
  },
  {
    name: "has at most 128 devices",
    spec: { devices: named(129) },
    faults: ["spec.devices: Too many: 129: must have at most 128 items"],
  },
  {
    name: "has at most 64 devices if one of them has a taint",
    spec: { devices: [...named(64), { name: "tainted", taints: [{ key: "a", effect: "None" }] }] },
    faults: ["spec.devices: Too many: 65: must have at most 64 items"],
  },
  {
    name: "tells its devices apart",
    spec: { devices: [{ name: "a" }, { name: "a" }, { name: "A" }] },
    faults: [`spec.devices[2].name: Invalid value: "A": ${label}`, 'spec.devices[1]: Duplicate value: "a"'],
  },
  {
    name: "checks its counter sets",
    spec: {
      sharedCounters: [
        { counters },
        { name: "a" },
        { name: "a", counters: { B: { value: "1" } } },
        { name: "b", counters: Object.fromEntries(named(33).map(({ name }) => [name, { value: "1" }])) },
      ],
    },
    faults: [
      "spec.sharedCounters[0].name: Required value",
      "spec.sharedCounters[1].counters: Required value",
      `spec.sharedCounters[2].counters: Invalid value: "B": ${label}`,
      "spec.sharedCounters[3].counters: Too many: 33: must have at most 32 items",
      'spec.sharedCounters[2]: Duplicate value: "a"',
    ],
  },
  {
    name: "has at most 8 counter sets",
    spec: { sharedCounters: named(9, { counters }) },
    faults: ["spec.sharedCounters: Too many: 9: must have at most 8 items"],
  },
  {
    name: "takes devices that choose their nodes",
    spec: {
      nodeName: undefined,
      perDeviceNodeSelection: true,
      devices: [
        { name: "a", nodeName: "node-1" },
        { name: "b", nodeSelector: selector },
        { name: "c", allNodes: true },
      ],
    },
    faults: [],
  },
];
for (const { name, spec, faults } of cases) {
  test(`a ResourceSlice ${name}`, () => assert.deepEqual(faultsOfSpec(spec), faults));
}

test("driver, pool and node of a ResourceSlice cannot be changed; its devices can", () => {
  const before = sliceOf({});
  const moved = sliceOf({ driver: "other.example.com", pool: { ...pool, name: "other" }, nodeName: "other" });

  assert.deepEqual(updateFaultsOf(ResourceSlice, sliceOf({ devices: named(1) }), before), []);
  assert.deepEqual(updateFaultsOf(ResourceSlice, moved, before), [
    'spec.driver: Invalid value: "other.example.com": field is immutable',
    'spec.pool.name: Invalid value: "other": field is immutable',
    'spec.nodeName: Invalid value: "other": field is immutable',
  ]);
});

test("a ResourceSlice loses the fields of features that are off", () => {
  const devices = [
    {
      name: "a",
      attributes: { one: { int: 1, ints: [1] }, two: { strings: ["x"] } },
      nodeAllocatableResourceMappings: { cpu: {} },
    },
  ];
  const slice = read(ResourceSlice, sliceOf({ devices }));
  assert.equal(slice.spec.devices?.[0]?.nodeAllocatableResourceMappings?.cpu?.allocationMultiplier, "1");

  ResourceSlice.prepareForCreate?.(slice);

  assert.deepEqual(slice.spec.devices, [{ name: "a", attributes: { one: { int: 1 }, two: {} } }]);
});

test("a ResourceSlice warns of a driver in capitals", () => {
  assert.deepEqual(warningsOfNew(ResourceSlice, sliceOf({})), []);
  assert.deepEqual(warningsOfNew(ResourceSlice, sliceOf({ driver: "GPU.example.com" })), [
    'spec.driver: driver names should be lowercase; "GPU.example.com" contains uppercase characters',
  ]);
});

test("a ResourceSlice is found by its node and its driver, and shows them", () => {
  const slice = read(ResourceSlice, sliceOf({}));
  const selectable = Object.entries(ResourceSlice.selectableFields).map(([name, get]) => [name, get(slice)]);

  assert.deepEqual(selectable, [
    ["spec.nodeName", "node-1"],
    ["spec.driver", "gpu.example.com"],
  ]);
  assert.deepEqual(
    ResourceSlice.columns.map(({ value }) => value(slice, 0)),
    ["node-1", "gpu.example.com", "node-1", "<unknown>"],
  );
});
