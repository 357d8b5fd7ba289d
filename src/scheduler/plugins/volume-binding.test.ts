import assert from "node:assert/strict";
import { test } from "node:test";
import { CSIDriver } from "#api/storage/csi-driver.ts";
import { CSIStorageCapacity } from "#api/storage/csi-storage-capacity.ts";
import { StorageClass } from "#api/storage/storage-class.ts";
import { type Client } from "#client/client.ts";
import { build } from "#testing/build.ts";
import { judge, makePod, snapshotOf } from "#testing/scheduling.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { volumeBinding } from "./volume-binding.ts";
import { claim, informers, late, namespace, nodes, podOf } from "./volumes.suite.ts";

const binding = volumeBinding({ client: {} as Client, informers, clock: createVirtualClock() });

const problems: readonly [name: string, message: string][] = [
  ["missing", 'persistentvolumeclaim "missing" not found'],
  ["lost", 'persistentvolumeclaim "lost" bound to non-existent persistentvolume "gone"'],
  ["immediate", "pod has unbound immediate PersistentVolumeClaims"],
];
for (const [name, message] of problems) {
  test(`VolumeBinding rejects a pod on every node: ${message}`, () => {
    assert.deepEqual(binding.candidates?.(podOf(name)), { reasons: [message], isFinal: true });
  });
}

const noVolume = "node(s) didn't find available persistent volumes to bind";
const conflict = "node(s) didn't match PersistentVolume's node affinity";
const verdicts: readonly [name: string, onA: string | undefined, onB: string | undefined][] = [
  ["bound", undefined, conflict],
  ["late", undefined, undefined],
  ["chosen", noVolume, undefined],
  ["orphaned", undefined, undefined],
  ["by-hand", noVolume, undefined],
  ["in-a", undefined, noVolume],
];
for (const [name, onA, onB] of verdicts) {
  test(`VolumeBinding places a pod with the claim ${name}`, () => {
    const snapshot = snapshotOf(nodes);
    const reasons = ["a", "b"].map((node) => judge(binding, podOf(name), snapshot, node)?.reasons[0]);
    assert.deepEqual(reasons, [onA, onB]);
  });
}

test("VolumeBinding gives one volume to one claim only, also before that is written", async () => {
  claim("by-hand-2", { storageClassName: "by-hand" });
  const world = volumeBinding({ client: {} as Client, informers, clock: createVirtualClock() });
  const snapshot = snapshotOf(nodes);
  assert.equal(judge(world, podOf("by-hand", "by-hand-2"), snapshot, "b")?.reasons[0], noVolume);

  world.reserve?.(podOf("by-hand"), "b");
  assert.equal(judge(world, podOf("by-hand-2"), snapshot, "b")?.reasons[0], noVolume);
  await world.unreserve?.(podOf("by-hand"), "b");
  assert.equal(judge(world, podOf("by-hand-2"), snapshot, "b"), undefined);
});

test("VolumeBinding makes volumes only where the driver has reported enough storage", () => {
  const provisioner = "disks.example.org";
  const driver = (storageCapacity: boolean) =>
    informers.put(CSIDriver, build(CSIDriver, { metadata: { name: provisioner }, spec: { storageCapacity } }));
  informers.put(StorageClass, { metadata: { name: "sized" }, ...late, provisioner });
  claim("sized", { storageClassName: "sized", resources: { requests: { storage: "10Gi" } } });
  const room = (name: string, host: string | undefined, sizes: { capacity?: string; maximumVolumeSize?: string }) => {
    const nodeTopology = host ? { nodeTopology: { matchLabels: { host } } } : {};
    const metadata = { name, namespace: "kube-system" };
    informers.put(CSIStorageCapacity, { metadata, storageClassName: "sized", ...nodeTopology, ...sizes });
  };
  const snapshot = snapshotOf(nodes);
  const reasons = () => ["a", "b"].map((node) => judge(binding, podOf("sized"), snapshot, node)?.reasons[0]);
  const noSpace = "node(s) did not have enough free storage";
  const parts = () => JSON.stringify(binding.looksAt?.(podOf("sized")));

  driver(false);
  assert.deepEqual(reasons(), [undefined, undefined]);
  driver(true);
  assert.deepEqual(reasons(), [noSpace, noSpace]);
  const before = parts();
  room("of-a", "a", { capacity: "10Gi" });
  assert.notEqual(parts(), before);
  room("of-b", "b", { capacity: "100Gi", maximumVolumeSize: "9Gi" });
  room("nowhere", undefined, { capacity: "100Gi" });
  assert.deepEqual(reasons(), [undefined, noSpace]);
  const matchExpressions = [{ key: "host", operator: "In" as const, values: ["b"] }];
  informers.put(CSIStorageCapacity, {
    metadata: { name: "by-expression", namespace: "kube-system" },
    storageClassName: "sized",
    nodeTopology: { matchExpressions },
    capacity: "1Ti",
  });
  assert.deepEqual(reasons(), [undefined, undefined]);
});

test("a pod that waits for storage is tried again when there is more of it", () => {
  const hintOf = (kind: string) => binding.retryOn?.objects?.find(({ resource }) => resource.kind === kind);
  const put = (capacity: string) =>
    informers.put(CSIStorageCapacity, { metadata: { name: "c", namespace }, storageClassName: "sized", capacity });
  const grows = (before: string | undefined, after: string) => {
    const previous = before === undefined ? undefined : put(before);
    const change = { type: "put", object: put(after), previous, trace: undefined } as const;
    return hintOf("CSIStorageCapacity")?.mayHelp(podOf("sized"), change);
  };
  assert.deepEqual([grows(undefined, "1Gi"), grows("1Gi", "2Gi"), grows("2Gi", "1Gi")], [true, true, false]);
});

test("VolumeBinding shares decisions between pods whose claims are alike, and only between them", () => {
  claim("late-2", { storageClassName: "late" });
  const parts = (...names: string[]) => JSON.stringify(binding.looksAt?.(podOf(...names)));

  assert.equal(parts("late"), parts("late-2"));
  assert.notEqual(parts("late"), parts("chosen"));
  assert.notEqual(parts("late"), parts("bound"));
  assert.notEqual(parts("by-hand"), parts("by-hand-2"));
  assert.equal(binding.looksAt?.(makePod("plain")), null);
});
