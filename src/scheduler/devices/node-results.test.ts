import assert from "node:assert/strict";
import { test } from "node:test";
import { DeviceClass } from "#api/devices/device-class.ts";
import { ResourceClaim } from "#api/devices/resource-claim.ts";
import { ResourceSlice } from "#api/devices/resource-slice.ts";
import { build } from "#testing/build.ts";
import { makeNode, snapshotOf } from "#testing/scheduling.ts";
import { type DeviceLedger } from "./device-ledger.ts";
import { NodeResults } from "./node-results.ts";
import { UsedDevices } from "./search/used-devices.ts";
import { wantedBy } from "./search/wanted.ts";
import { SelectorResults } from "./selector-results.ts";
import { SliceIndex } from "./slice-index.ts";

const names = ["a", "b", "c"];

/** Each node has one device. */
function ledgerOf(): DeviceLedger {
  const slices = new SliceIndex();
  for (const nodeName of names) {
    const pool = { name: nodeName, generation: 1, resourceSliceCount: 1 };
    const spec = { driver: "d.example.com", pool, nodeName, devices: [{ name: "x" }] };
    const object = build(ResourceSlice, { metadata: { name: nodeName }, spec });
    slices.apply({ type: "put", object, previous: undefined, trace: undefined });
  }
  const parts = { epoch: 0, version: 0, changedSince: () => new Set<string>(), slices, used: new UsedDevices() };
  return parts as unknown as DeviceLedger;
}

test("NodeResults.refresh() continues with the nodes for which the last attempt had no time", async () => {
  const deviceClass = build(DeviceClass, { metadata: { name: "any" }, spec: {} });
  const requests = [{ name: "r", exactly: { deviceClassName: "any" } }];
  const claim = build(ResourceClaim, { metadata: { name: "c" }, spec: { devices: { requests } } });
  const wanted = wantedBy(claim, () => deviceClass);
  assert(typeof wanted === "object");
  const stock = { ledger: ledgerOf(), selectors: new SelectorResults() };
  const results = new NodeResults(stock, { allocated: [], failed: [], wanted: [wanted] }, 20_000);
  const { nodes } = snapshotOf(names.map((name) => makeNode(name)));
  const fitting = () => names.filter((name) => results.of(name).rejection === undefined);
  const stepsPerNode = 3;

  await results.refresh(nodes, stepsPerNode + 1);
  assert.deepEqual(fitting(), ["a"]);
  await results.refresh(nodes, 2 * stepsPerNode);
  assert.deepEqual(fitting(), names);
});
