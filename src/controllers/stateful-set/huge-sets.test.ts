import assert from "node:assert/strict";
import { test } from "node:test";
import { type StatefulSet } from "#api/apps/stateful-set.ts";
import { type Pod } from "#api/core/pod.ts";
import { planMembers, sortMembers } from "./plan-members.ts";

const most = 2 ** 31 - 1;
const setOf = (spec: object): StatefulSet =>
  ({ metadata: { name: "web" }, spec: { updateStrategy: { type: "RollingUpdate" }, ...spec } }) as StatefulSet;
const podOf = (ordinal: number): Pod =>
  ({
    metadata: { name: `web-${ordinal}`, labels: { "controller-revision-hash": "old" } },
    status: { phase: "Running", conditions: [{ type: "Ready", status: "True", lastTransitionTime: "2026-01-01" }] },
  }) as unknown as Pod;

const plan = (set: StatefulSet, pods: readonly Pod[]) => {
  const { create, remove } = planMembers(set, sortMembers(set, pods), { updateRevision: "new", nowMs: Date.now() });
  return { create, remove: remove.map(({ metadata }) => metadata.name) };
};

test("a set with billions of replicas gets its next pod", () => {
  const set = setOf({ replicas: most, ordinals: { start: 5 } });
  assert.deepEqual(plan(set, [podOf(6), podOf(5), podOf(1)]), { create: [7], remove: [] });
});

test("a parallel set with billions of replicas gets and loses a few hundred pods at once", () => {
  const set = setOf({ replicas: most, podManagementPolicy: "Parallel" });
  const { create } = plan(set, [podOf(1)]);
  assert.deepEqual([create.length, create[0], create[1]], [500, 0, 2]);
  const pods = Array.from({ length: 600 }, (_, ordinal) => podOf(ordinal));
  const { remove } = plan(setOf({ replicas: 0, podManagementPolicy: "Parallel" }), pods);
  assert.deepEqual([remove.length, remove[0]], [500, "web-599"]);
});

test("an update goes from the last pod down to the partition, wherever the ordinals start", () => {
  const pods = [podOf(5), podOf(6)];
  const withPartition = (partition: number) =>
    setOf({
      replicas: 2,
      ordinals: { start: 5 },
      updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition } },
    });
  assert.deepEqual(plan(withPartition(1), pods), { create: [], remove: ["web-6"] });
  assert.deepEqual(plan(withPartition(2), pods), { create: [], remove: [] });
});
