import assert from "node:assert/strict";
import { test } from "node:test";
import { Node } from "#api/core/node.ts";
import { PersistentVolume } from "#api/core/persistent-volume/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { Pod } from "#api/core/pod.ts";
import { type InputOf } from "#api/resource.ts";
import { CSIDriver } from "#api/storage/csi-driver.ts";
import { CSIStorageCapacity } from "#api/storage/csi-storage-capacity.ts";
import { StorageClass } from "#api/storage/storage-class.ts";
import { type Client } from "#client/client.ts";
import { build } from "#testing/build.ts";
import { createFakeInformers } from "#testing/fake-informers.ts";
import { judge, makeNode, makePod, snapshotOf } from "#testing/scheduling.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { volumeBinding } from "./volume-binding.ts";
import { volumeRestrictions } from "./volume-restrictions.ts";
import { volumeZone } from "./volume-zone.ts";

const namespace = "default";
const informers = createFakeInformers();
const late = { provisioner: "p", volumeBindingMode: "WaitForFirstConsumer" as const };
informers.put(StorageClass, { metadata: { name: "late" }, ...late });
informers.put(StorageClass, { metadata: { name: "by-hand" }, ...late, provisioner: "kubernetes.io/no-provisioner" });
informers.put(StorageClass, {
  metadata: { name: "in-a" },
  ...late,
  allowedTopologies: [{ matchLabelExpressions: [{ key: "zone", values: ["a"] }] }],
});

type ClaimParts = Partial<InputOf<PersistentVolumeClaim>["spec"]> & { phase?: string; node?: string };
function claim(name: string, { phase = "Pending", node, ...spec }: ClaimParts): void {
  const annotations = {
    ...(phase === "Bound" ? { "pv.kubernetes.io/bind-completed": "yes" } : {}),
    ...(node ? { "volume.kubernetes.io/selected-node": node } : {}),
  };
  const metadata = { name, namespace, annotations };
  informers.put(PersistentVolumeClaim, build(PersistentVolumeClaim, { metadata, spec, status: { phase } }));
}
const onNode = (name: string) => ({
  required: { nodeSelectorTerms: [{ matchExpressions: [{ key: "host", operator: "In" as const, values: [name] }] }] },
});
const volume = (name: string, spec: NonNullable<InputOf<PersistentVolume>["spec"]>, labels = {}, phase = "Bound") =>
  informers.put(
    PersistentVolume,
    build(PersistentVolume, {
      metadata: { name, labels },
      spec: { volumeMode: "Filesystem", ...spec },
      status: { phase },
    }),
  );

volume("disk-a", { nodeAffinity: onNode("a") });
volume("disk-zone", {}, { "topology.kubernetes.io/zone": "b__c" });
volume("free-b", { nodeAffinity: onNode("b"), storageClassName: "by-hand" }, {}, "Available");
claim("bound", { volumeName: "disk-a", phase: "Bound" });
claim("zoned", { volumeName: "disk-zone", phase: "Bound" });
claim("lost", { volumeName: "gone", phase: "Lost" });
claim("immediate", { storageClassName: "fast" });
claim("late", { storageClassName: "late" });
claim("chosen", { storageClassName: "late", node: "b" });
claim("orphaned", { storageClassName: "late", node: "gone" });
claim("by-hand", { storageClassName: "by-hand" });
claim("in-a", { storageClassName: "in-a" });
claim("single", { storageClassName: "late", accessModes: ["ReadWriteOncePod"] });

const nodes = ["a", "b"].map((name) =>
  makeNode(name, { labels: { host: name, zone: name, "topology.kubernetes.io/zone": name } }),
);
for (const node of nodes) informers.put(Node, node);
const podOf = (...names: string[]): Pod =>
  makePod("web", {
    volumes: names.map((claimName, n) => ({ name: `v${n}`, persistentVolumeClaim: { claimName } })),
  });
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

test("VolumeBinding gives one volume to one claim only, also before that is written", () => {
  claim("by-hand-2", { storageClassName: "by-hand" });
  const world = volumeBinding({ client: {} as Client, informers, clock: createVirtualClock() });
  const snapshot = snapshotOf(nodes);
  assert.equal(judge(world, podOf("by-hand", "by-hand-2"), snapshot, "b")?.reasons[0], noVolume);

  world.reserve?.(podOf("by-hand"), "b");
  assert.equal(judge(world, podOf("by-hand-2"), snapshot, "b")?.reasons[0], noVolume);
  world.unreserve?.(podOf("by-hand"), "b");
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

test("VolumeZone places a pod in one of the zones of its volume", () => {
  const zone = volumeZone({ informers });
  const snapshot = snapshotOf([...nodes, makeNode("nowhere")]);

  assert.deepEqual(judge(zone, podOf("zoned"), snapshot, "a")?.reasons, ["node(s) had no available volume zone"]);
  assert.equal(judge(zone, podOf("zoned"), snapshot, "b"), undefined);
  assert.equal(judge(zone, podOf("zoned"), snapshot, "nowhere"), undefined);
  assert.equal(judge(zone, podOf("late"), snapshot, "a"), undefined);
});

test("VolumeRestrictions keeps a ReadWriteOncePod claim to one pod", () => {
  const restrictions = volumeRestrictions({ informers });
  const other = informers.put(Pod, { ...podOf("single"), metadata: { name: "other", namespace, uid: "other-1" } });
  const [free, used] = [snapshotOf(nodes), snapshotOf(nodes, [{ ...other, spec: { ...other.spec, nodeName: "a" } }])];

  assert.equal(judge(restrictions, podOf("single"), free, "b"), undefined);
  assert.match(
    judge(restrictions, podOf("single"), used, "b")?.reasons[0] ?? "",
    /ReadWriteOncePod access mode already in-use/,
  );
  assert.equal(judge(restrictions, podOf("late"), used, "b"), undefined);
});

test("VolumeRestrictions lets several pods of a node read a disk, but not one of them write to it", () => {
  const restrictions = volumeRestrictions({ informers });
  const withDisk = (name: string, readOnly: boolean) =>
    makePod(name, { volumes: [{ name: "v", iscsi: { targetPortal: "t", iqn: "iqn.x", lun: 0, readOnly } }] });
  const snapshot = snapshotOf(nodes, [
    { ...withDisk("r", true), spec: { ...withDisk("r", true).spec, nodeName: "a" } },
  ]);

  assert.equal(judge(restrictions, withDisk("reader", true), snapshot, "a"), undefined);
  assert.deepEqual(judge(restrictions, withDisk("writer", false), snapshot, "a")?.reasons, [
    "node(s) had no available disk",
  ]);
  assert.equal(judge(restrictions, withDisk("writer", false), snapshot, "b"), undefined);
});
