import assert from "node:assert/strict";
import { test } from "node:test";
import { faultsOf, read, updateFaultsOf } from "../faults.suite.ts";
import { CSINode } from "./csi-node.ts";

const metadata = { name: "node-1" };
const node = (...drivers: object[]) => ({ metadata, spec: { drivers } });
const disk = { name: "disk.example.com", nodeID: "n1", topologyKeys: ["zone"], allocatable: { count: 5 } };

test("a CSINode shows the number of its drivers", () => {
  const shown = CSINode.columns.map(({ value }) => value(read(CSINode, node(disk)), 0));

  assert.deepEqual(shown, [1, "<unknown>"]);
});

const badKey =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const cases = [
  { name: "takes good drivers", drivers: [disk, { name: "Files.example.com", nodeID: "n1" }], faults: [] },
  {
    name: "needs names",
    drivers: [{}],
    faults: ["spec.drivers[0].name: Required value", "spec.drivers[0].nodeID: Required value"],
  },
  {
    name: "has short names, each once",
    drivers: [disk, disk, { name: "a".repeat(64), nodeID: "n".repeat(257), allocatable: { count: -1 } }],
    faults: [
      "spec.drivers[2].allocatable.count: Invalid value: -1: must be greater than or equal to 0",
      'spec.drivers[1].name: Duplicate value: "disk.example.com"',
      "spec.drivers[2].name: Too long: may not be more than 63 bytes",
      `spec.drivers[2].nodeID: Invalid value: "${"n".repeat(257)}": must be 256 characters or less`,
    ],
  },
  {
    name: "has labels as topology keys, each once",
    drivers: [{ ...disk, topologyKeys: ["zone", "zone", "", "a b"] }],
    faults: [
      'spec.drivers[0]: Duplicate value: "zone"',
      "spec.drivers[0]: Required value",
      'spec.drivers[0]: Invalid value: "": name part must be non-empty',
      `spec.drivers[0]: Invalid value: "": ${badKey}`,
      `spec.drivers[0]: Invalid value: "a b": ${badKey}`,
    ],
  },
];
for (const { name, drivers, faults } of cases) {
  test(`a CSINode ${name}`, () => assert.deepEqual(faultsOf(CSINode, node(...drivers)), faults));
}

test("a driver of a CSINode can only get another number of volumes", () => {
  const moved = { ...disk, nodeID: "n2" };

  assert.deepEqual(updateFaultsOf(CSINode, node(moved), node(disk)), [
    'spec.drivers: Invalid value: {"Name":"disk.example.com","NodeID":"n2","TopologyKeys":["zone"],"Allocatable":null}: field is immutable',
  ]);
  const other = { name: "other.example.com", nodeID: "n1" };
  assert.deepEqual(updateFaultsOf(CSINode, node({ ...disk, allocatable: { count: 6 } }, other), node(disk)), []);
  assert.deepEqual(updateFaultsOf(CSINode, node(), node(disk)), []);
});
