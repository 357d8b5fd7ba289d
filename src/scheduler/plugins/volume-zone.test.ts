import assert from "node:assert/strict";
import { test } from "node:test";
import { type Node } from "#api/core/node.ts";
import { judge, makeNode, makePod, snapshotOf } from "#testing/scheduling.ts";
import { volumeZone } from "./volume-zone.ts";
import { claim, informers, nodes, podOf, volume } from "./volumes.suite.ts";

const zone = volumeZone({ informers });
const snapshot = snapshotOf([...nodes, makeNode("nowhere")]);
const elsewhere = "node(s) had no available volume zone";

const regions = { "topology.kubernetes.io/region": "r", "topology.kubernetes.io/zone": "a" };
volume("disk-old-zone", {}, { "failure-domain.beta.kubernetes.io/zone": "b" });
volume("disk-region", {}, { "topology.kubernetes.io/region": "r" });
claim("old-zone", { volumeName: "disk-old-zone", phase: "Bound" });
claim("region", { volumeName: "disk-region", phase: "Bound" });

const cases: readonly [name: string, onA: string | undefined, onB: string | undefined][] = [
  ["zoned", elsewhere, undefined],
  ["old-zone", elsewhere, undefined],
  ["region", elsewhere, elsewhere],
  ["bound", undefined, undefined],
  ["late", undefined, undefined],
];
for (const [name, onA, onB] of cases) {
  test(`VolumeZone places a pod with the claim ${name} in the zones of its volume`, () => {
    const reasons = ["a", "b", "nowhere"].map((node) => judge(zone, podOf(name), snapshot, node)?.reasons[0]);
    assert.deepEqual(reasons, [onA, onB, undefined]);
  });
}

test("VolumeZone wants the region as well as the zone", () => {
  const there = snapshotOf([makeNode("there", { labels: regions })]);

  assert.equal(judge(zone, podOf("region"), there, "there"), undefined);
  assert.equal(judge(zone, podOf("zoned"), there, "there")?.reasons[0], elsewhere);
});

test("a pod that VolumeZone rejected is tried again after other labels of a node, and for its own claims only", () => {
  const node = zone.retryOn?.node;
  const a = nodes[0] as Node;
  const relabelled = { ...a, metadata: { ...a.metadata, labels: regions } };
  const change = (object: Node, previous: Node | undefined) =>
    node?.(podOf("zoned"), {
      kind: "Node",
      change: previous ? "updated" : "created",
      object,
      previous,
      info: undefined,
    });

  assert.deepEqual([change(a, undefined), change(relabelled, a), change(a, a)], [true, true, false]);
  assert.deepEqual(
    zone.retryOn?.objects?.map(({ resource }) => resource.kind),
    ["PersistentVolumeClaim", "PersistentVolume"],
  );
});

test("pods without claims are all alike for VolumeZone, and others by the zones of their volumes", () => {
  assert.equal(zone.looksAt?.(makePod("plain")), null);
  assert.notDeepEqual(zone.looksAt?.(podOf("zoned")), zone.looksAt?.(podOf("region")));
  assert.deepEqual(zone.looksAt?.(podOf("bound")), zone.looksAt?.(podOf("late")));
});
