import assert from "node:assert/strict";
import { test } from "node:test";
import { Pod } from "#api/core/pod.ts";
import { judge, makePod, snapshotOf } from "#testing/scheduling.ts";
import { volumeRestrictions } from "./volume-restrictions.ts";
import { informers, namespace, nodes, podOf } from "./volumes.suite.ts";

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

const diskCases: readonly [what: string, mine: object, theirs: object, isConflict: boolean][] = [
  ["the same disk", { awsElasticBlockStore: { volumeID: "v" } }, { awsElasticBlockStore: { volumeID: "v" } }, true],
  ["another disk", { awsElasticBlockStore: { volumeID: "w" } }, { awsElasticBlockStore: { volumeID: "v" } }, false],
  ["a disk that both read", readOf("d", true), readOf("d", true), false],
  ["a disk that one writes", readOf("d", false), readOf("d", true), true],
  ["a directory", { emptyDir: {} }, { emptyDir: {} }, false],
];
for (const [what, mine, theirs, isConflict] of diskCases) {
  test(`VolumeRestrictions ${isConflict ? "keeps a pod away from" : "accepts"} a node where a pod uses ${what}`, () => {
    const restrictions = volumeRestrictions({ informers });
    const other = makePod("other", { volumes: [{ name: "v", ...theirs }], nodeName: "a" });
    const pod = makePod("pod", { volumes: [{ name: "v", ...mine }] });
    const snapshot = snapshotOf(nodes, [other]);

    assert.equal(judge(restrictions, pod, snapshot, "a") !== undefined, isConflict);
    assert.equal(judge(restrictions, pod, snapshot, "b"), undefined);
  });
}

function readOf(pdName: string, readOnly: boolean): object {
  return { gcePersistentDisk: { pdName, readOnly } };
}

test("the end of a pod wakes those that VolumeRestrictions rejected for what it used", () => {
  const { retryOn } = volumeRestrictions({ informers });
  const ended = (object: Pod) =>
    retryOn?.pod?.(podOf("single"), { kind: "Pod", change: "deleted", object, freesRoom: true, info: undefined });

  assert.deepEqual([ended(podOf("single")), ended(podOf("late")), ended(makePod("plain"))], [true, false, false]);
});
