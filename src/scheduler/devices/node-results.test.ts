import assert from "node:assert/strict";
import { test } from "node:test";
import { Node } from "#api/core/node.ts";
import { DeviceClass } from "#api/devices/device-class.ts";
import { ResourceClaim } from "#api/devices/resource-claim.ts";
import { ResourceSlice } from "#api/devices/resource-slice.ts";
import { build } from "#testing/build.ts";
import { createFakeInformers } from "#testing/fake-informers.ts";
import { makeNode, snapshotOf } from "#testing/scheduling.ts";
import { DeviceLedger } from "./device-ledger.ts";
import { NodeResults } from "./node-results.ts";
import { wantedBy } from "./search/wanted.ts";
import { SelectorResults } from "./selector-results.ts";

test("NodeResults looks at the nodes for which the steps did not suffice in the next attempt", async () => {
  const informers = createFakeInformers();
  const nodes = ["a", "b"].map((name) => informers.put(Node, makeNode(name)));
  for (const { metadata } of nodes) {
    const pool = { name: metadata.name, generation: 1, resourceSliceCount: 1 };
    const spec = { driver: "d.example.com", pool, nodeName: metadata.name, devices: [{ name: "x" }] };
    informers.put(ResourceSlice, build(ResourceSlice, { metadata: { name: metadata.name }, spec }));
  }
  const ledger = new DeviceLedger(informers);
  using _ = { [Symbol.dispose]: ledger.follow() };
  const devices = { requests: [{ name: "r", exactly: { deviceClassName: "any" } }] };
  const any = build(DeviceClass, { metadata: { name: "any" }, spec: {} });
  const wanted = wantedBy(build(ResourceClaim, { metadata: { name: "c" }, spec: { devices } }), () => any);
  assert(typeof wanted === "object");
  const results = new NodeResults(ledger, new SelectorResults(), { allocated: [], failed: [], wanted: [wanted] });
  const all = snapshotOf(nodes).nodes;
  const reasons = () => ["a", "b"].map((name) => results.of(name).rejection?.reasons[0]);

  const left = await results.refresh(all, 20_000);
  assert(left < 20_000);
  assert.deepEqual(reasons(), [undefined, "timed out trying to allocate devices"]);
  assert((await results.refresh(all, 20_000)) < 20_000);
  assert.deepEqual(reasons(), [undefined, undefined]);
  assert.equal(await results.refresh(all, 20_000), 20_000);
});
