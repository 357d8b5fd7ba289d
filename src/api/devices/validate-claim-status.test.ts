import assert from "node:assert/strict";
import { test } from "node:test";
import { read, statusFaultsOf } from "../faults.suite.ts";
import { prepareUpdate } from "../rules.ts";
import { ResourceClaim } from "./resource-claim.ts";

const metadata = { name: "gpus", namespace: "default", resourceVersion: "1" };
const spec = {
  devices: {
    requests: [
      { name: "a", exactly: { deviceClassName: "gpu" } },
      { name: "b", firstAvailable: [{ name: "x", deviceClassName: "gpu" }] },
    ],
  },
};
const claimOf = (status: object, part: object = {}) => ({ metadata: { ...metadata, ...part }, spec, status });

const device = { driver: "gpu.example.com", pool: "node-1", device: "gpu-0" };
const shareID = "0f9b1c2d-3e4f-4a5b-8c6d-7e8f9a0b1c2d";
const result = { request: "a", ...device };
const allocation = { devices: { results: [result] } };
const pod = { resource: "pods", name: "web", uid: "1" };
const shown = '{"Driver":"gpu.example.com","Pool":"node-1","Device":"gpu-0","ShareID":""}';
const condition = { type: "Ready", status: "True", reason: "Up", lastTransitionTime: "2026-01-01T00:00:00Z" };
const unknownRequest =
  "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";
const resultsOf = (...results: object[]) => ({ allocation: { devices: { results } } });
const reportOf = (...reports: object[]) => ({ allocation, devices: reports.map((part) => ({ ...device, ...part })) });
const normalForm =
  "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal characters";

const cases: { name: string; status: object; faults: string[] }[] = [
  {
    name: "can be allocated, reserved and reported on",
    status: {
      allocation: {
        devices: {
          results: [
            result,
            { ...result, request: "b/x", shareID, bindingConditions: ["A"], bindingFailureConditions: ["B"] },
          ],
          config: [{ source: "FromClass", opaque: { driver: "gpu.example.com", parameters: {} } }],
        },
        nodeSelector: {
          nodeSelectorTerms: [{ matchFields: [{ key: "metadata.name", operator: "In", values: ["n"] }] }],
        },
        allocationTimestamp: "2026-01-01T00:00:00Z",
      },
      reservedFor: [pod],
      devices: [
        { ...device, conditions: [condition], data: {}, networkData: { interfaceName: "eth1", ips: ["192.0.2.5/24"] } },
        { ...device, shareID },
      ],
    },
    faults: [],
  },
  {
    name: "has only tolerations with which the claim can be written again",
    status: resultsOf({ ...result, tolerations: [{ key: "k" }, { operator: "Like", effect: "Never" }] }),
    faults: [
      'status.allocation.devices.results[0].tolerations[1].operator: Unsupported value: "Like": supported values: "Equal", "Exists"',
      'status.allocation.devices.results[0].tolerations[1].effect: Unsupported value: "Never": supported values: "NoExecute", "NoSchedule", "None"',
    ],
  },
  {
    name: "names its consumers, once each, if it is allocated",
    status: { reservedFor: [{}, pod, pod] },
    faults: [
      "status.reservedFor[0].resource: Required value",
      "status.reservedFor[0].name: Required value",
      "status.reservedFor[0].uid: Required value",
      'status.reservedFor[2]: Duplicate value: "1"',
      "status.reservedFor: Forbidden: may not be specified when `allocated` is not set",
    ],
  },
  {
    name: "has at most 256 consumers",
    status: { allocation, reservedFor: Array.from({ length: 257 }, (_, uid) => ({ ...pod, uid: `${uid}` })) },
    faults: ["status.reservedFor: Too many: 257: must have at most 256 items"],
  },
  {
    name: "is allocated for its own requests",
    status: resultsOf({ ...result, request: "c" }, { ...result, request: "a/x" }),
    faults: [
      `status.allocation.devices.results[0].request: Invalid value: "c": ${unknownRequest}`,
      `status.allocation.devices.results[1].request: Invalid value: "a/x": ${unknownRequest}`,
    ],
  },
  {
    name: "wants driver and pool of what is allocated",
    status: resultsOf({ request: "a", device: "gpu-0" }),
    faults: [
      "status.allocation.devices.results[0].driver: Required value",
      "status.allocation.devices.results[0].pool: Required value",
    ],
  },
  {
    name: "has at most 32 results and 64 settings",
    status: {
      allocation: {
        devices: { results: Array.from({ length: 33 }, () => result), config: Array.from({ length: 65 }, () => ({})) },
      },
    },
    faults: [
      "status.allocation.devices.results: Too many: 33: must have at most 32 items",
      "status.allocation.devices.config: Too many: 65: must have at most 64 items",
    ],
  },
  {
    name: "knows where settings come from",
    status: {
      allocation: {
        devices: {
          config: [{}, { source: "FromHeaven", requests: ["z"], opaque: { driver: "d", parameters: {} } }],
        },
      },
    },
    faults: [
      "status.allocation.devices.config[0].source: Required value",
      "status.allocation.devices.config[0].opaque: Required value",
      'status.allocation.devices.config[1].source: Unsupported value: "FromHeaven": supported values: "FromClaim", "FromClass"',
      `status.allocation.devices.config[1].requests[0]: Invalid value: "z": ${unknownRequest}`,
    ],
  },
  {
    name: "wants UUIDs in the usual form",
    status: resultsOf(
      { ...result, shareID: "1" },
      { ...result, shareID: shareID.toUpperCase() },
      { ...result, shareID: `{${shareID}}` },
      { ...result, shareID: shareID.replace("0f", "0x") },
    ),
    faults: [
      'status.allocation.devices.results[0].shareID: Invalid value: "1": error validating uid: invalid UUID length: 1',
      `status.allocation.devices.results[1].shareID: Invalid value: "${shareID.toUpperCase()}": ${normalForm}`,
      `status.allocation.devices.results[2].shareID: Invalid value: "{${shareID}}": ${normalForm}`,
      `status.allocation.devices.results[3].shareID: Invalid value: "${shareID.replace("0f", "0x")}": error validating uid: invalid UUID format`,
    ],
  },
  {
    name: "is reported on only where it is allocated",
    status: { devices: [device] },
    faults: [`status.devices[0]: Invalid value: ${shown}: must be an allocated device in the claim`],
  },
  {
    name: "has one report for each device",
    status: reportOf({}, {}),
    faults: [`status.devices[1]: Duplicate value: ${shown}`],
  },
  {
    name: "tells the shares of a device apart",
    status: {
      ...resultsOf({ ...result, shareID }),
      devices: [
        { ...device, shareID },
        { ...device, shareID: "" },
      ],
    },
    faults: [
      'status.devices[1].shareID: Invalid value: "": error validating uid: invalid UUID length: 0',
      `status.devices[1]: Invalid value: ${shown}: must be an allocated device in the claim`,
    ],
  },
  {
    name: "has at most 8 conditions for a device, of different types",
    status: reportOf({ conditions: Array.from({ length: 9 }, (_, at) => ({ ...condition, type: `T${at % 8}` })) }),
    faults: [
      "status.devices[0].conditions: Too many: 9: must have at most 8 items",
      'status.devices[0].conditions[8].type: Duplicate value: "T0"',
    ],
  },
  {
    name: "limits what is reported of a network interface",
    status: reportOf({
      data: "x",
      networkData: {
        interfaceName: "x".repeat(257),
        hardwareAddress: "x".repeat(129),
        ips: ["192.0.2.5", "192.0.02.5/24", "::ffff:192.0.2.5/120", "2001:DB8::1/64", "192.0.2.5/24", "192.0.2.5/24"],
      },
    }),
    faults: [
      'status.devices[0].data: Invalid value: "<value omitted>": must be a valid JSON object',
      "status.devices[0].networkData.interfaceName: Too long: may not be more than 256 bytes",
      "status.devices[0].networkData.hardwareAddress: Too long: may not be more than 128 bytes",
      'status.devices[0].networkData.ips[0]: Invalid value: "192.0.2.5": must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)',
      'status.devices[0].networkData.ips[1]: Invalid value: "192.0.02.5/24": must be in canonical form ("192.0.2.5/24")',
      'status.devices[0].networkData.ips[2]: Invalid value: "::ffff:192.0.2.5/120": must be in canonical form ("192.0.2.5/24")',
      'status.devices[0].networkData.ips[3]: Invalid value: "2001:DB8::1/64": must be in canonical form ("2001:db8::1/64")',
      'status.devices[0].networkData.ips[5]: Duplicate value: "192.0.2.5/24"',
    ],
  },
];
for (const { name, status, faults } of cases) {
  test(`a ResourceClaim ${name}`, () =>
    assert.deepEqual(statusFaultsOf(ResourceClaim, claimOf(status), claimOf({})), faults));
}

test("an allocation can be removed, but not changed", () => {
  const before = claimOf({ allocation });
  const other = claimOf(resultsOf({ ...result, device: "gpu-1" }));
  const [fault = "", ...others] = statusFaultsOf(ResourceClaim, other, before);

  assert.deepEqual(statusFaultsOf(ResourceClaim, claimOf({}), before), []);
  assert.deepEqual(statusFaultsOf(ResourceClaim, claimOf({ allocation, reservedFor: [pod] }), before), []);
  assert.match(fault, /^status\.allocation: Invalid value: \{"devices":.*\}: field is immutable$/);
  assert.deepEqual(others, []);
});

test("a deleted claim gets no new consumers", () => {
  const deleted = { deletionTimestamp: "2026-01-01T00:00:00Z" };
  const before = claimOf({ allocation, reservedFor: [pod] }, deleted);
  const faults = (...reservedFor: object[]) =>
    statusFaultsOf(ResourceClaim, claimOf({ allocation, reservedFor }, deleted), before);

  assert.deepEqual(faults(pod), []);
  assert.deepEqual(faults(), []);
  assert.deepEqual(faults(pod, { ...pod, uid: "2" }), [
    "status.reservedFor: Forbidden: new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set",
  ]);
});

test("a write of the status keeps spec and metadata, and drops reports on devices that are no longer allocated", () => {
  const other = { ...device, device: "gpu-1" };
  const old = read(ResourceClaim, claimOf({ ...reportOf({}), reservedFor: [pod] }, { labels: { app: "web" } }));
  const object = read(ResourceClaim, {
    ...claimOf({ devices: [device, other] }, { labels: { app: "other" }, finalizers: ["a/b"] }),
    spec: {},
  });

  prepareUpdate(ResourceClaim, { object, old, subresource: "status" });

  assert.deepEqual(object.status, { devices: [other] });
  assert.deepEqual(object.spec, old.spec);
  assert.deepEqual(object.metadata, old.metadata);
});
