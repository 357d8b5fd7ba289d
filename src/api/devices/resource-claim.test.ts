import assert from "node:assert/strict";
import { test } from "node:test";
import { faultsOf, read, updateFaultsOf } from "../faults.suite.ts";
import { ResourceClaim } from "./resource-claim.ts";
import { ResourceClaimTemplate } from "./resource-claim-template.ts";

const metadata = { name: "gpus", namespace: "default" };
const exactly = { deviceClassName: "gpu" };
const claimOf = (devices: object) => ({ metadata, spec: { devices } });
const requestsOf = (...parts: object[]) => ({ requests: parts.map((part, index) => ({ name: `r${index}`, ...part })) });
const many = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at));

const label =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const unknownRequest =
  "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";
const opaque = { driver: "gpu.example.com", parameters: {} };

const cases: { name: string; devices: object; faults: string[] }[] = [
  { name: "may request nothing", devices: {}, faults: [] },
  {
    name: "takes requests, alternatives, constraints and settings",
    devices: {
      requests: [
        { name: "a", exactly: { ...exactly, selectors: [{ cel: { expression: "true" } }], count: 2 } },
        {
          name: "b",
          firstAvailable: [
            { name: "big", ...exactly, allocationMode: "All" },
            { name: "small", ...exactly },
          ],
        },
      ],
      constraints: [
        { requests: ["a", "b/small"], matchAttribute: "gpu.example.com/numa" },
        { distinctAttribute: "gpu.example.com/slot" },
      ],
      config: [{ requests: ["b"], opaque }],
    },
    faults: [],
  },
  {
    name: "wants one way to satisfy a request",
    devices: requestsOf({}, { exactly, firstAvailable: [{ name: "a", ...exactly }] }),
    faults: [
      "spec.devices.requests[0]: Required value: exactly one of `exactly` or `firstAvailable` is required",
      "spec.devices.requests[1]: Invalid value: null: exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set",
    ],
  },
  {
    name: "tells its requests apart",
    devices: { requests: [{ name: "a", exactly }, { name: "a", exactly }, { exactly }] },
    faults: [
      `spec.devices.requests[2].name: Invalid value: "": ${label}`,
      'spec.devices.requests[1]: Duplicate value: "a"',
    ],
  },
  {
    name: "has at most 32 requests, constraints and settings",
    devices: { requests: many(33, () => ({})), constraints: many(33, () => ({})), config: many(33, () => ({})) },
    faults: ["requests", "constraints", "config"].map(
      (name) => `spec.devices.${name}: Too many: 33: must have at most 32 items`,
    ),
  },
  {
    name: "has at most 8 alternatives in a request",
    devices: requestsOf({ firstAvailable: many(9, (index) => ({ name: `a${index}`, ...exactly })) }),
    faults: ["spec.devices.requests[0].firstAvailable: Too many: 9: must have at most 8 items"],
  },
  {
    name: "tells alternatives apart",
    devices: requestsOf({ firstAvailable: [{ name: "a", ...exactly }, { name: "a" }] }),
    faults: [
      "spec.devices.requests[0].firstAvailable[1].deviceClassName: Required value",
      'spec.devices.requests[0].firstAvailable[1]: Duplicate value: "a"',
    ],
  },
  {
    name: "wants a count that fits the mode",
    devices: requestsOf(
      { exactly: { ...exactly, allocationMode: "All", count: 1 } },
      { exactly: { ...exactly, count: -1 } },
      { exactly: { ...exactly, allocationMode: "Some" } },
    ),
    faults: [
      "spec.devices.requests[0].exactly.count: Invalid value: 1: must not be specified when allocationMode is 'All'",
      "spec.devices.requests[1].exactly.count: Invalid value: -1: must be greater than zero",
      'spec.devices.requests[2].exactly.allocationMode: Unsupported value: "Some": supported values: "All", "ExactCount"',
    ],
  },
  {
    name: "checks tolerations",
    devices: requestsOf({
      exactly: {
        ...exactly,
        tolerations: [
          { key: "a", operator: "Exists", value: "x" },
          { operator: "Like", effect: "Never" },
          { key: "a", value: "x", effect: "NoExecute", tolerationSeconds: 5 },
        ],
      },
    }),
    faults: [
      'spec.devices.requests[0].exactly.tolerations[1].operator: Unsupported value: "Like": supported values: "Equal", "Exists"',
      'spec.devices.requests[0].exactly.tolerations[1].effect: Unsupported value: "Never": supported values: "NoExecute", "NoSchedule", "None"',
      'spec.devices.requests[0].exactly.tolerations[0].value: Invalid value: "x": must be empty for operator `Exists`',
    ],
  },
  {
    name: "constrains an attribute with a domain",
    devices: { ...requestsOf({ exactly }), constraints: [{}, { matchAttribute: "numa" }, { distinctAttribute: "a/" }] },
    faults: [
      'spec.devices.constraints[0]: Required value: exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set',
      'spec.devices.constraints[1].matchAttribute: Invalid value: "numa": a fully qualified name must be a domain and a name separated by a slash',
      'spec.devices.constraints[2].distinctAttribute: Invalid value: "": the name must not be empty',
    ],
  },
  {
    name: "refers only to its own requests, once each",
    devices: {
      requests: [
        { name: "a", exactly },
        { name: "b", firstAvailable: [{ name: "x", ...exactly }] },
      ],
      config: [{ requests: ["a", "a", "b/x", "b/y", "a/x", "c", "b/x/y"], opaque }],
    },
    faults: [
      `spec.devices.config[0].requests[3]: Invalid value: "b/y": ${unknownRequest}`,
      `spec.devices.config[0].requests[4]: Invalid value: "a/x": ${unknownRequest}`,
      `spec.devices.config[0].requests[5]: Invalid value: "c": ${unknownRequest}`,
      `spec.devices.config[0].requests[6]: Invalid value: "b/x/y": ${unknownRequest}`,
      'spec.devices.config[0].requests[1]: Duplicate value: "a"',
    ],
  },
  {
    name: "wants settings",
    devices: { config: [{}] },
    faults: ["spec.devices.config[0].opaque: Required value"],
  },
];
for (const { name, devices, faults } of cases) {
  test(`a ResourceClaim ${name}`, () => assert.deepEqual(faultsOf(ResourceClaim, claimOf(devices)), faults));
}

test("a request gets one device by default, and tolerations compare values", () => {
  const devices = {
    requests: [
      { name: "a", exactly: { ...exactly, tolerations: [{ key: "k" }] } },
      { name: "b", firstAvailable: [{ name: "x", ...exactly, allocationMode: "All" }] },
    ],
  };

  assert.deepEqual(read(ResourceClaim, claimOf(devices)).spec.devices.requests, [
    {
      name: "a",
      exactly: { ...exactly, tolerations: [{ key: "k", operator: "Equal" }], allocationMode: "ExactCount", count: 1 },
    },
    { name: "b", firstAvailable: [{ name: "x", ...exactly, allocationMode: "All" }] },
  ]);
});

test("the spec of a ResourceClaim cannot be changed, and a new one has no status", () => {
  const before = claimOf(requestsOf({ exactly }));
  const [fault = "", ...others] = updateFaultsOf(ResourceClaim, claimOf(requestsOf({})), before);
  const created = read(ResourceClaim, { ...before, status: { allocation: {} } });
  ResourceClaim.prepareForCreate?.(created);

  assert.match(fault, /^spec: Invalid value: \{"devices":.*\}: field is immutable$/);
  assert.deepEqual(others, []);
  assert.deepEqual(updateFaultsOf(ResourceClaim, { ...before, metadata: { ...metadata, labels: {} } }, before), []);
  assert.deepEqual(created.status, {});
});

test("a ResourceClaim shows its state", () => {
  const allocation = {};
  const reservedFor = [{ resource: "pods", name: "web", uid: "1" }];
  const deletionTimestamp = "2026-01-01T00:00:00Z";
  const stateOf = (status: object, part: object = {}): unknown => {
    const claim = read(ResourceClaim, { metadata: { ...metadata, ...part }, spec: {}, status });
    return ResourceClaim.columns[0]?.value(claim, 0);
  };

  assert.equal(stateOf({}), "pending");
  assert.equal(stateOf({ allocation }), "allocated");
  assert.equal(stateOf({ allocation, reservedFor }), "allocated,reserved");
  assert.equal(stateOf({}, { deletionTimestamp }), "deleted");
  assert.equal(stateOf({ allocation, reservedFor }, { deletionTimestamp }), "deleted,allocated,reserved");
});

test("a ResourceClaimTemplate has labels, annotations and the spec of a claim", () => {
  const labels = { app: "web" };
  const templateOf = (part: object, devices: object = requestsOf({ exactly })) => ({
    metadata,
    spec: { metadata: part, spec: { devices } },
  });

  assert.deepEqual(faultsOf(ResourceClaimTemplate, templateOf({ labels, annotations: { a: "b" } })), []);
  assert.deepEqual(faultsOf(ResourceClaimTemplate, templateOf({ name: "a", finalizers: ["a/b"] }, requestsOf({}))), [
    "spec.metadata.name: Forbidden: cannot be set",
    "spec.metadata.finalizers: Forbidden: cannot be set",
    "spec.spec.devices.requests[0]: Required value: exactly one of `exactly` or `firstAvailable` is required",
  ]);
  assert.equal(
    read(ResourceClaimTemplate, templateOf({})).spec.spec.devices.requests?.[0]?.exactly?.allocationMode,
    "ExactCount",
  );
});

test("the spec of a ResourceClaimTemplate cannot be changed", () => {
  const templateOf = (app: string) => ({ metadata, spec: { metadata: { labels: { app } } } });
  const [fault = "", ...others] = updateFaultsOf(ResourceClaimTemplate, templateOf("b"), templateOf("a"));

  assert.match(fault, /^spec: Invalid value: \{.*\}: field is immutable$/);
  assert.deepEqual(others, []);
});
