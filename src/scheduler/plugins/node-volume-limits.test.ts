import assert from "node:assert/strict";
import { test } from "node:test";
import { PersistentVolume } from "#api/core/persistent-volume/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { Pod } from "#api/core/pod.ts";
import { CSINode } from "#api/storage/csi-node.ts";
import { StorageClass } from "#api/storage/storage-class.ts";
import { VolumeAttachment } from "#api/storage/volume-attachment.ts";
import { type Change } from "#runtime/informer.ts";
import { build } from "#testing/build.ts";
import { createFakeInformers } from "#testing/fake-informers.ts";
import { judge, makeNode, makePod, snapshotOf } from "#testing/scheduling.ts";
import { nodeVolumeLimits } from "./node-volume-limits.ts";

const namespace = "default";
const driver = "disks.example.org";
const full = "node(s) exceed max volume count";

/** A cluster in which the node `a` can have two volumes of the driver, and `b` any number. */
function setUp() {
  const informers = createFakeInformers();
  const count = (node: string, limit?: number) =>
    informers.put(CSINode, {
      metadata: { name: node },
      spec: {
        drivers: [{ name: driver, nodeID: node, ...(limit === undefined ? {} : { allocatable: { count: limit } }) }],
      },
    });
  count("a", 2);
  count("b");
  informers.put(StorageClass, {
    metadata: { name: "late" },
    provisioner: driver,
    volumeBindingMode: "WaitForFirstConsumer",
  });
  const claim = (name: string, handle?: string) => {
    const spec = handle ? { volumeName: `pv-${name}` } : { storageClassName: "late" };
    informers.put(PersistentVolumeClaim, build(PersistentVolumeClaim, { metadata: { name, namespace }, spec }));
    if (!handle) return;
    const csi = { driver, volumeHandle: handle };
    const volume = { csi, claimRef: { namespace, name } };
    informers.put(PersistentVolume, build(PersistentVolume, { metadata: { name: `pv-${name}` }, spec: volume }));
  };
  const attach = (name: string, volume: string) =>
    informers.put(VolumeAttachment, {
      metadata: { name },
      spec: { attacher: driver, nodeName: "a", source: { persistentVolumeName: volume } },
      status: { attached: true },
    });
  const pod = (name: string, claims: string[], nodeName?: string): Pod => {
    const volumes = claims.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } }));
    const made = makePod(name, { volumes, ...(nodeName ? { nodeName } : {}) });
    return informers.put(Pod, { ...made, metadata: { ...made.metadata, uid: name } });
  };
  for (const name of ["one", "two", "three", "four"]) claim(name, `h-${name}`);
  const plugin = nodeVolumeLimits({ informers });
  const nodes = [makeNode("a"), makeNode("b"), makeNode("plain")];
  const reasons = (one: Pod, others: readonly Pod[]) =>
    nodes.map(({ metadata }) => judge(plugin, one, snapshotOf(nodes, others), metadata.name)?.reasons[0]);
  return { informers, plugin, claim, count, attach, pod, reasons };
}

const fitsEverywhere = [undefined, undefined, undefined];
const fullOnA = [full, undefined, undefined];

test("NodeVolumeLimits counts the volumes of a node's pods, each once", () => {
  const { pod, reasons, claim } = setUp();
  const busy = [pod("x", ["one"], "a"), pod("y", ["one"], "a")];
  assert.deepEqual(reasons(pod("new", ["two"]), busy), fitsEverywhere);
  assert.deepEqual(reasons(pod("new", ["two", "three"]), busy), fullOnA);
  const twice = [...busy, pod("z", ["two"], "a")];
  assert.deepEqual(reasons(pod("new", ["three"]), twice), fullOnA);
  assert.deepEqual(reasons(pod("new", ["one"]), twice), fitsEverywhere);
  claim("same", "h-one");
  assert.deepEqual(reasons(pod("new", ["same"]), twice), fitsEverywhere);
});

test("NodeVolumeLimits counts claims whose volume the driver will make, and no volumes of others", () => {
  const { pod, reasons, claim, informers } = setUp();
  for (const name of ["late-1", "late-2", "late-3"]) claim(name);
  const busy = [pod("x", ["late-1"], "a"), pod("y", ["late-2"], "a")];
  assert.deepEqual(reasons(pod("new", ["late-3"]), busy), fullOnA);
  informers.put(StorageClass, { metadata: { name: "local" }, provisioner: "orlop.dev/local" });
  const spec = { storageClassName: "local" };
  const other = build(PersistentVolumeClaim, { metadata: { name: "other", namespace }, spec });
  informers.put(PersistentVolumeClaim, other);
  assert.deepEqual(reasons(pod("new", ["other"]), busy), fitsEverywhere);
});

test("NodeVolumeLimits counts what is attached without a pod until it is detached", () => {
  const { pod, reasons, attach, informers, plugin } = setUp();
  const busy = [pod("x", ["one"], "a")];
  const late = pod("new", ["three"]);
  assert.deepEqual(reasons(late, busy), fitsEverywhere);
  const before = plugin.basis?.(late, snapshotOf([]));
  attach("va-one", "pv-one");
  assert.equal(plugin.basis?.(late, snapshotOf([])), before);
  attach("va-two", "pv-two");
  assert.deepEqual(reasons(late, busy), fullOnA);
  assert.notEqual(plugin.basis?.(late, snapshotOf([])), before);
  assert.deepEqual(reasons(pod("again", ["two"]), busy), fitsEverywhere);
  informers.delete(VolumeAttachment, { name: "va-two" });
  assert.deepEqual(reasons(late, busy), fitsEverywhere);
});

test("NodeVolumeLimits recognises a volume that was made after its pod came", () => {
  const { pod, reasons, claim, attach } = setUp();
  claim("late-1");
  const busy = [pod("x", ["late-1"], "a")];
  assert.deepEqual(reasons(pod("new", ["one"]), busy), fitsEverywhere);
  claim("late-1", "h-late");
  attach("va", "pv-late-1");
  assert.deepEqual(reasons(pod("new", ["one"]), busy), fitsEverywhere);
});

test("NodeVolumeLimits shares results between pods with new volumes, and looks at nothing without limits", () => {
  const { pod, plugin, count } = setUp();
  const parts = (name: string, ...claims: string[]) => JSON.stringify(plugin.looksAt?.(pod(name, claims)));
  assert.equal(parts("p1", "one"), parts("p2", "two"));
  assert.notEqual(parts("p1", "one"), parts("p3", "three", "four"));
  pod("user", ["two"], "a");
  assert.notEqual(parts("p1", "one"), parts("p2", "two"));
  count("a");
  assert.equal(plugin.looksAt?.(pod("p1", ["one"])), null);
  assert.equal(plugin.preFilter?.(pod("p1", ["one"]), snapshotOf([])), undefined);
});

test("a pod that NodeVolumeLimits rejected is tried again when a limit grows or a volume leaves", () => {
  const { pod, plugin, count, attach } = setUp();
  const waiting = pod("new", ["one"]);
  const hintOf = (kind: string) => plugin.retryOn?.objects?.find(({ resource }) => resource.kind === kind);
  const grows = (before: number | undefined, after: number) => {
    const previous = before === undefined ? undefined : count("a", before);
    const change = { type: "put", object: count("a", after), previous, trace: undefined } as Change<CSINode>;
    return hintOf("CSINode")?.mayHelp(waiting, change);
  };
  assert.deepEqual([grows(undefined, 1), grows(1, 2), grows(2, 2), grows(2, 1)], [true, true, false, false]);
  const object = attach("va", "pv-two");
  const gone = { type: "delete", object, trace: undefined } as const;
  const put = { type: "put", object, previous: undefined, trace: undefined } as const;
  assert.deepEqual(
    [gone, put].map((change) => hintOf("VolumeAttachment")?.mayHelp(waiting, change)),
    [true, false],
  );
});
