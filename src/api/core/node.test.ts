import assert from "node:assert/strict";
import { test } from "node:test";
import { faultsOf, read, statusFaultsOf, updateFaultsOf } from "../faults.suite.ts";
import { Node } from "./node.ts";

const metadata = { name: "one", labels: { "node-role.kubernetes.io/control-plane": "" } };

test("a Node gets its defaults", () => {
  const node = read(Node, { metadata, spec: { podCIDRs: ["10.1.0.0/24"] }, status: { capacity: { cpu: "2" } } });

  assert.equal(node.spec.podCIDR, "10.1.0.0/24");
  assert.deepEqual(node.status.allocatable, { cpu: "2" });
});

const cases = [
  {
    name: "takes a good one",
    spec: { podCIDR: "10.1.0.0/24", taints: [{ key: "a", effect: "NoExecute" }] },
    faults: [],
  },
  {
    name: "knows the effects of taints and wants them once",
    spec: {
      taints: [
        { key: "a", effect: "Never" },
        { key: "a", effect: "Never" },
      ],
    },
    faults: [
      'metadata.taints[0].effect: Unsupported value: "Never": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
      'metadata.taints[1].effect: Unsupported value: "Never": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
      'metadata.taints[1]: Duplicate value: {"key":"a","effect":"Never"}: taints must be unique by key and effect pair',
    ],
  },
  {
    name: "has one range of a family",
    spec: { podCIDRs: ["10.1.0.0/24", "10.2.0.0/24"] },
    faults: [
      'spec.podCIDRs: Invalid value: ["10.1.0.0/24","10.2.0.0/24"]: may specify no more than one CIDR for each IP family',
    ],
  },
];
for (const { name, spec, faults } of cases) {
  test(`a Node ${name}`, () => assert.deepEqual(faultsOf(Node, { metadata, spec }), faults));
}

test("the range and the provider's name of a Node are set once", () => {
  const old = { metadata, spec: { podCIDR: "10.1.0.0/24", providerID: "x" } };

  assert.deepEqual(updateFaultsOf(Node, { metadata, spec: { podCIDR: "10.2.0.0/24" } }, old), [
    'spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid',
    'spec.providerID: Forbidden: node updates may not change providerID except from "" to valid',
  ]);
});

test("the addresses and amounts in a Node's status are checked", () => {
  const address = { type: "InternalIP", address: "10.0.0.1" };
  const status = { addresses: [address, address], capacity: { cpu: "-1" } };

  assert.deepEqual(statusFaultsOf(Node, { metadata, status }, { metadata }), [
    'status.capacity.cpu: Invalid value: "-1": must be greater than or equal to 0',
    'status.allocatable.cpu: Invalid value: "-1": must be greater than or equal to 0',
    `status.addresses[1]: Duplicate value: ${JSON.stringify(address)}`,
  ]);
});

test("the columns of a Node show what it is", () => {
  const node = read(Node, {
    metadata,
    spec: { unschedulable: true },
    status: {
      conditions: [{ type: "Ready", status: "True" }],
      addresses: [{ type: "InternalIP", address: "10.0.0.1" }],
      nodeInfo: { kubeletVersion: "v1.36.4", kernelVersion: "6.1", architecture: "amd64" },
    },
  });

  assert.deepEqual(
    Node.columns.map(({ value }) => value(node, 0)),
    [
      "Ready,SchedulingDisabled",
      "control-plane",
      "<unknown>",
      "v1.36.4",
      "10.0.0.1",
      "<none>",
      "<unknown>",
      "6.1 (amd64)",
      "<unknown>",
    ],
  );
});
