import assert from "node:assert/strict";
import { test } from "node:test";
import { faultsOf, read, updateFaultsOf } from "../faults.suite.ts";
import { DeviceClass } from "./device-class.ts";

const metadata = { name: "gpu" };
const selectors = [{ cel: { expression: 'device.driver == "gpu.example.com"' } }];
const opaque = { driver: "gpu.example.com", parameters: { kind: "GpuConfig", sharing: "none" } };
const good = { metadata, spec: { selectors, config: [{ opaque }], extendedResourceName: "example.com/gpu" } };

const many = <T>(count: number, item: T): T[] => Array.from({ length: count }, () => item);

const cases: { name: string; spec: object; faults: string[] }[] = [
  { name: "takes a good one", spec: good.spec, faults: [] },
  { name: "takes an empty one", spec: {}, faults: [] },
  {
    name: "wants an expression in each selector; the server compiles it",
    spec: { selectors: [{}, { cel: {} }] },
    faults: ["spec.selectors[0].cel: Required value"],
  },
  {
    name: "limits the length of an expression in bytes",
    spec: { selectors: [{ cel: { expression: "é".repeat(5121) } }, { cel: { expression: "é".repeat(5120) } }] },
    faults: ["spec.selectors[0].cel.expression: Too long: may not be more than 10240 bytes"],
  },
  {
    name: "has at most 32 selectors and settings",
    spec: { selectors: many(33, {}), config: many(33, {}) },
    faults: [
      "spec.selectors: Too many: 33: must have at most 32 items",
      "spec.config: Too many: 33: must have at most 32 items",
    ],
  },
  { name: "wants settings", spec: { config: [{}] }, faults: ["spec.config[0].opaque: Required value"] },
  {
    name: "wants a driver and parameters",
    spec: { config: [{ opaque: {} }, { opaque: { driver: "d", parameters: null } }] },
    faults: [
      "spec.config[0].opaque.driver: Required value",
      "spec.config[0].opaque.parameters: Required value",
      "spec.config[1].opaque.parameters: Required value",
    ],
  },
  {
    name: "accepts a driver in capitals, but none that is no domain or too long",
    spec: {
      config: [
        { opaque: { ...opaque, driver: "GPU.Example.com" } },
        { opaque: { ...opaque, driver: "gpu_1" } },
        { opaque: { ...opaque, driver: "a".repeat(64) } },
      ],
    },
    faults: [
      `spec.config[1].opaque.driver: Invalid value: "gpu_1": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
      "spec.config[2].opaque.driver: Too long: may not be more than 63 bytes",
    ],
  },
  {
    name: "wants parameters to be an object of limited size",
    spec: {
      config: [
        { opaque: { ...opaque, parameters: ["a"] } },
        { opaque: { ...opaque, parameters: "a" } },
        { opaque: { ...opaque, parameters: { a: "x".repeat(10240) } } },
      ],
    },
    faults: [
      'spec.config[0].opaque.parameters: Invalid value: "<value omitted>": must be a valid JSON object',
      'spec.config[1].opaque.parameters: Invalid value: "<value omitted>": must be a valid JSON object',
      "spec.config[2].opaque.parameters: Too long: may not be more than 10240 bytes",
    ],
  },
  {
    name: "offers only extended resources",
    spec: { extendedResourceName: "cpu" },
    faults: ['spec.extendedResourceName: Invalid value: "cpu": must be a valid extended resource name'],
  },
];
for (const { name, spec, faults } of cases) {
  test(`a DeviceClass ${name}`, () => assert.deepEqual(faultsOf(DeviceClass, { metadata, spec }), faults));
}

test("a DeviceClass can be changed, within the same rules", () => {
  const after = { metadata, spec: { selectors: [{}] } };

  assert.deepEqual(updateFaultsOf(DeviceClass, { metadata, spec: {} }, good), []);
  assert.deepEqual(updateFaultsOf(DeviceClass, after, good), ["spec.selectors[0].cel: Required value"]);
});

test("a DeviceClass belongs to the cluster and shows its age", () => {
  const { plural, scope, columns } = DeviceClass;
  const cells = columns.map(({ value }) => value(read(DeviceClass, good), 0));

  assert.deepEqual([plural, scope, cells], ["deviceclasses", "Cluster", ["<unknown>"]]);
});
