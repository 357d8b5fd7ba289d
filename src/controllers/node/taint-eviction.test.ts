import assert from "node:assert/strict";
import { test } from "node:test";
import { Node, type Taint } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import { type InputOf } from "#api/resource.ts";
import { conflict } from "#api/status.ts";
import { neverAborted } from "#lib/async/tasks.ts";
import { silentLog } from "#lib/process/log.ts";
import { type ReconcilerDeps } from "#runtime/reconciler.ts";
import { build } from "#testing/build.ts";
import { createFakeInformers } from "#testing/fake-informers.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { planEviction, taintEvictionController } from "./taint-eviction.ts";

const nowMs = Date.UTC(2026, 0, 1, 8);
const now = "2026-01-01T08:00:00Z";
const taint = (name: string, effect: string): Taint => ({ key: `node.kubernetes.io/${name}`, effect });
const pod = (name: string, spec: InputOf<Pod>["spec"] = {}, status: InputOf<Pod>["status"] = {}) =>
  build(Pod, {
    metadata: { name, namespace: "default", creationTimestamp: "2026-01-01T07:00:00Z" },
    spec: { containers: [{ name: "c", image: "i" }], ...spec },
    status,
  });

const unreachable = { ...taint("unreachable", "NoExecute"), timeAdded: now };
const evictions = [
  { name: "keeps a pod on a node without taints", taints: [], due: undefined },
  { name: "evicts a pod without a toleration immediately", taints: [unreachable], due: nowMs },
  {
    name: "waits as long as the pod tolerates",
    taints: [unreachable],
    tolerations: [{ key: "node.kubernetes.io/unreachable", operator: "Exists", tolerationSeconds: 300 }],
    due: nowMs + 300_000,
  },
  {
    name: "waits for ever if the toleration has no limit",
    taints: [unreachable],
    tolerations: [{ operator: "Exists" }],
    due: undefined,
  },
  {
    name: "counts from the first sighting if the taint has no time, however old the pod is",
    taints: [taint("maintenance", "NoExecute")],
    tolerations: [{ key: "node.kubernetes.io/maintenance", operator: "Exists", tolerationSeconds: 60 }],
    due: nowMs + 50_000,
  },
  {
    name: "uses the earliest of several times",
    taints: [unreachable, { ...taint("not-ready", "NoExecute"), timeAdded: "2026-01-01T08:01:00Z" }],
    tolerations: [
      { key: "node.kubernetes.io/unreachable", operator: "Exists", tolerationSeconds: 300 },
      { key: "node.kubernetes.io/not-ready", operator: "Exists", tolerationSeconds: 30 },
    ],
    due: nowMs + 90_000,
  },
];

for (const { name, taints, tolerations = [], due } of evictions) {
  test(`planEviction() ${name}`, () => {
    assert.equal(planEviction(pod("p", { tolerations }), taints, { nowMs, sinceMs: nowMs - 10_000 }), due);
  });
}

test("an eviction that fails is tried again at once, and not after the time that the pod tolerates", async () => {
  const clock = createVirtualClock();
  const informers = createFakeInformers();
  const calls: string[] = [];
  const client = {
    patch: async () => {
      calls.push("patch");
      if (calls.length === 1) throw conflict(Pod, "p", "the object has been modified");
    },
    delete: async () => void calls.push("delete"),
  };
  const events = { event: () => {} };
  const deps = { client, informers, clock, events, log: silentLog } as unknown as ReconcilerDeps;
  const { reconcile } = taintEvictionController(deps);
  // As from kubectl, without a time.
  const taints = [taint("maintenance", "NoExecute")];
  informers.put(Node, { metadata: { name: "node-1" }, spec: { taints }, status: {} });
  const tolerations = [{ key: "node.kubernetes.io/maintenance", operator: "Exists", tolerationSeconds: 60 }];
  const subject = pod("p", { nodeName: "node-1", tolerations });

  assert.deepEqual(await reconcile(subject, neverAborted), { afterMs: 60_000 });
  await clock.advance(60_000);
  await assert.rejects(async () => await reconcile(subject, neverAborted), /has been modified/);
  const again = await reconcile(subject, neverAborted);

  assert.equal(again, undefined);
  assert.deepEqual(calls, ["patch", "patch", "delete"]);
});
