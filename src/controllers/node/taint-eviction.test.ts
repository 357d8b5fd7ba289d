import assert from "node:assert/strict";
import { test } from "node:test";
import { type Taint } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import { type InputOf } from "#api/resource.ts";
import { build } from "#testing/build.ts";
import { planEviction } from "./taint-eviction.ts";

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
