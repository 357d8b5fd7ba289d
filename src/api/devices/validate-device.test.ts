import assert from "node:assert/strict";
import { test } from "node:test";
import { faultsOf } from "../faults.suite.ts";
import { ResourceSlice } from "./resource-slice.ts";

const pool = { name: "node-1", generation: 1, resourceSliceCount: 1 };

function faultsOfDevice(device: object, spec: object = { nodeName: "node-1" }): string[] {
  const devices = [{ name: "gpu-0", ...device }];
  const slice = { metadata: { name: "a" }, spec: { driver: "gpu.example.com", pool, ...spec, devices } };
  return faultsOf(ResourceSlice, slice).map((fault) => fault.replace("spec.devices[0]", "device"));
}

const identifier =
  "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')";
const entries = <T>(count: number, value: T) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`a${index}`, value]));
const semver = "must be a string compatible with semver.org spec 2.0.0";
const shared = (requestPolicy: object) => ({
  allowMultipleAllocations: true,
  capacity: { memory: { value: "10Gi", requestPolicy } },
});
const policy = "device.capacity[memory].requestPolicy";
const ready = ["example.com/Ready"];

const cases: { name: string; device: object; faults: string[] }[] = [
  {
    name: "takes attributes and capacities of all sorts",
    device: {
      attributes: {
        int: { int: 0 },
        bool: { bool: false },
        string: { string: "" },
        "gpu.example.com/version": { version: "1.2.3-rc.1+build.5" },
      },
      capacity: { memory: { value: "10Gi" } },
    },
    faults: [],
  },
  {
    name: "counts attributes and capacities together",
    device: { attributes: entries(32, { int: 1 }), capacity: { memory: { value: "1" } } },
    faults: ["device: Invalid value: 33: the total number of attributes and capacities must not exceed 32"],
  },
  {
    name: "counts the values of attributes",
    device: { attributes: entries(49, { int: 1 }) },
    faults: [
      "device: Invalid value: 49: the total number of attributes and capacities must not exceed 32",
      "device: Invalid value: 49: the total number of attribute values must not exceed 48",
    ],
  },
  {
    name: "does not look at each of far too many attributes",
    device: { attributes: entries(10_000, {}) },
    faults: [
      "device: Invalid value: 10000: the total number of attributes and capacities must not exceed 32",
      "device: Invalid value: 10000: the total number of attribute values must not exceed 48",
    ],
  },
  {
    name: "checks the names of attributes and capacities",
    device: {
      attributes: { "1a": { int: 1 }, "/a": { int: 1 }, "a/": { int: 1 }, "a/b/c": { int: 1 } },
      capacity: { [`x${"y".repeat(32)}`]: { value: "1" } },
    },
    faults: [
      `device.attributes: Invalid value: "1a": ${identifier}`,
      'device.attributes: Invalid value: "": the domain must not be empty',
      'device.attributes: Invalid value: "": the name must not be empty',
      "device.capacity: Too long: may not be more than 32 bytes",
    ],
  },
  {
    name: "shortens a long name in a path",
    device: { attributes: { [`${"d".repeat(63)}/${"x".repeat(40)}`]: {} } },
    faults: [
      "device.attributes: Too long: may not be more than 32 bytes",
      `device.attributes[${"d".repeat(47)}...${"x".repeat(40).padStart(46, "d").replace(/^d{6}/, "ddddd/")}]: Invalid value: "": exactly one value must be specified`,
    ],
  },
  {
    name: "wants exactly one value for an attribute",
    device: { attributes: { none: {}, two: { int: 1, bool: true } } },
    faults: [
      'device.attributes[none]: Invalid value: "": exactly one value must be specified',
      'device.attributes[two]: Invalid value: {"int":1,"bool":true}: exactly one value must be specified',
    ],
  },
  {
    name: "limits texts and checks versions",
    device: { attributes: { a: { string: "x".repeat(65) }, b: { version: "1.02.3" }, c: { version: "1.2.3-" } } },
    faults: [
      "device.attributes[a].string: Too long: may not be more than 64 bytes",
      `device.attributes[b].version: Invalid value: "1.02.3": ${semver}`,
      `device.attributes[c].version: Invalid value: "1.2.3-": ${semver}`,
    ],
  },
  {
    name: "checks its taints",
    device: { taints: [{ effect: "NoSchedule" }, { key: "a", value: "!" }, { key: "a", effect: "Never" }] },
    faults: [
      'device.taints[2].effect: Unsupported value: "Never": supported values: "NoExecute", "NoSchedule", "None"',
      'device.taints[0].key: Invalid value: "": name part must be non-empty',
      `device.taints[0].key: Invalid value: "": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
      `device.taints[1].value: Invalid value: "!": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`,
      "device.taints[1].effect: Required value",
    ],
  },
  {
    name: "checks what it takes from counters",
    device: { consumesCounters: [{}, { counterSet: "a", counters: { m: { value: "1" } } }] },
    faults: [
      "device.consumesCounters[0].counterSet: Required value",
      "device.consumesCounters[0].counters: Required value",
    ],
  },
  {
    name: "takes from each of at most two counter sets once",
    device: {
      consumesCounters: [
        { counterSet: "a", counters: { m: { value: "1" } } },
        { counterSet: "a", counters: { n: { value: "1" } } },
      ],
    },
    faults: ['device.consumesCounters[1]: Duplicate value: "a"'],
  },
  {
    name: "leaves the nodes to its slice",
    device: { allNodes: true },
    faults: [
      "device: Invalid value: null: `nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the ResourceSlice spec",
    ],
  },
  {
    name: "waits for conditions only together with conditions that end the wait",
    device: { bindingConditions: ready },
    faults: [
      "device.bindingFailureConditions: Invalid value: null: bindingFailureConditions are required to use bindingConditions",
    ],
  },
  {
    name: "tells its conditions apart",
    device: { bindingConditions: [...ready, ...ready], bindingFailureConditions: ready },
    faults: [
      'device.bindingConditions[1]: Duplicate value: "example.com/Ready"',
      'device.bindingFailureConditions[0]: Invalid value: "example.com/Ready": bindingFailureConditions must not overlap with bindingConditions',
    ],
  },
  {
    name: "limits requests only if it can be shared",
    device: { capacity: { memory: { value: "1Gi", requestPolicy: {} } } },
    faults: [`${policy}: Forbidden: allowMultipleAllocations must be true`],
  },
  { name: "may limit requests to nothing", device: shared({ default: "1Gi" }), faults: [] },
  {
    name: "takes values and ranges",
    device: {
      allowMultipleAllocations: true,
      capacity: {
        a: { value: "10Gi", requestPolicy: { default: "1024Mi", validValues: ["1Gi", "2Gi"] } },
        b: { value: "10Gi", requestPolicy: { default: "2Gi", validRange: { min: "1Gi", max: "5Gi", step: "1Gi" } } },
      },
    },
    faults: [],
  },
  {
    name: "wants one policy",
    device: shared({ default: "1Gi", validValues: ["1Gi"], validRange: { min: "1Gi" } }),
    faults: [
      `${policy}: Forbidden: exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time`,
    ],
  },
  {
    name: "wants a default for a policy",
    device: shared({ validRange: {} }),
    faults: [`${policy}.default: Required value: required when validRange is defined`],
  },
  {
    name: "wants values in order, unique, and not more than there is",
    device: shared({ default: "3Gi", validValues: ["2Gi", "1Gi", "2048Mi", "11Gi"] }),
    faults: [
      `${policy}.validValues[1]: Invalid value: "1Gi": values must be sorted in ascending order`,
      `${policy}.validValues[3]: Invalid value: "11Gi": option is larger than capacity value: 10Gi`,
      `${policy}.validValues[2]: Duplicate value: "2147483648"`,
      `${policy}.validValues: Invalid value: "3Gi": default value is not valid according to the requestPolicy`,
    ],
  },
  {
    name: "wants the start of a range",
    device: shared({ default: "1Gi", validRange: { max: "2Gi" } }),
    faults: [`${policy}.validRange.min: Required value: required when validRange is defined`],
  },
  {
    name: "wants a range that fits",
    device: shared({ default: "1Gi", validRange: { min: "12Gi", max: "11Gi" } }),
    faults: [
      `${policy}.validRange.min: Invalid value: "12Gi": min is larger than capacity value: 10Gi`,
      `${policy}.validRange.min: Invalid value: "1Gi": default is less than min: 12Gi`,
      `${policy}.validRange.max: Invalid value: "12Gi": min is larger than max: 11Gi`,
      `${policy}.validRange.max: Invalid value: "11Gi": max is larger than capacity value: 10Gi`,
    ],
  },
  {
    name: "wants steps that lead to the default and to the maximum",
    device: shared({ default: "2Gi", validRange: { min: "1Gi", max: "4Gi", step: "2Gi" } }),
    faults: ["2Gi", "4Gi"].map(
      (value) =>
        `${policy}.validRange.step: Invalid value: "${value}": value is not a multiple of a given step (2Gi) from (1Gi)`,
    ),
  },
  {
    name: "wants steps of some length, and not longer than there is",
    device: {
      allowMultipleAllocations: true,
      capacity: {
        a: { value: "10Gi", requestPolicy: { default: "1Gi", validRange: { min: "1Gi", step: "0" } } },
        b: { value: "10Gi", requestPolicy: { default: "1Gi", validRange: { min: "1Gi", step: "10Gi" } } },
      },
    },
    faults: [
      'device.capacity[a].requestPolicy.validRange.step: Invalid value: "1Gi": value is not a multiple of a given step (0) from (1Gi)',
      'device.capacity[b].requestPolicy.validRange.step: Invalid value: "10Gi": one step 11Gi is larger than capacity value: 10Gi',
    ],
  },
];
for (const { name, device, faults } of cases) {
  test(`a device ${name}`, () => assert.deepEqual(faultsOfDevice(device), faults));
}

test("a device that chooses its nodes does so in exactly one way", () => {
  const spec = { perDeviceNodeSelection: true };
  const wanted =
    "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true in the ResourceSlice spec";

  assert.deepEqual(faultsOfDevice({}, spec), [`device: Required value: ${wanted}`]);
  assert.deepEqual(faultsOfDevice({ nodeName: "", allNodes: false }, spec), [
    'device.nodeName: Invalid value: "": must not be empty',
    "device.allNodes: Invalid value: false: must be either unset or set to true",
    `device: Required value: ${wanted}`,
  ]);
  assert.deepEqual(faultsOfDevice({ nodeName: "a", allNodes: true }, spec), [
    `device: Invalid value: "{\`nodeName\`, \`allNodes\`}": ${wanted}`,
  ]);
});
