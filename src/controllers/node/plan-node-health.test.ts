import assert from "node:assert/strict";
import { test } from "node:test";
import { Node, type Taint } from "#api/core/node.ts";
import { type InputOf } from "#api/resource.ts";
import { build } from "#testing/build.ts";
import { evictionRate, planTaints, silentConditions } from "./plan-node-health.ts";

const nowMs = Date.UTC(2026, 0, 1, 8);
const now = "2026-01-01T08:00:00Z";
type Status = "True" | "False" | "Unknown";
const node = (name: string, ready: Status | undefined, spec: InputOf<Node>["spec"] = {}, zone = "z") =>
  build(Node, {
    metadata: { name, labels: { "topology.kubernetes.io/zone": zone }, creationTimestamp: now },
    spec,
    status: ready ? { conditions: [{ type: "Ready", status: ready }] } : {},
  });

const shown = (taints: readonly Taint[]) => taints.map(({ key, effect }) => `${key.split("/")[1]}:${effect}`);
const taint = (name: string, effect: string): Taint => ({ key: `node.kubernetes.io/${name}`, effect });
const taintCases = [
  { name: "leaves a healthy node alone", subject: node("a", "True"), expected: [] },
  {
    name: "taints a node that cannot be reached",
    subject: node("a", "Unknown"),
    expected: ["unreachable:NoSchedule", "unreachable:NoExecute"],
  },
  {
    name: "delays eviction on request",
    subject: node("a", "False"),
    eviction: "wait",
    expected: ["not-ready:NoSchedule"],
  },
  {
    name: "replaces the taint of a node that is already evicting",
    subject: node("a", "Unknown", { taints: [taint("not-ready", "NoExecute"), taint("not-ready", "NoSchedule")] }),
    eviction: "wait",
    expected: ["unreachable:NoSchedule", "unreachable:NoExecute"],
  },
  {
    name: "stops eviction where all nodes are down",
    subject: node("a", "Unknown", { taints: [taint("unreachable", "NoExecute")] }),
    eviction: "never",
    expected: ["unreachable:NoSchedule"],
  },
  {
    name: "keeps foreign taints and removes its own",
    subject: node("a", "True", { taints: [taint("not-ready", "NoSchedule"), { key: "x/mine", effect: "NoExecute" }] }),
    expected: ["mine:NoExecute"],
  },
  {
    name: "taints an unschedulable node",
    subject: node("a", "True", { unschedulable: true }),
    expected: ["unschedulable:NoSchedule"],
  },
] as const;

for (const { name, subject, expected, ...options } of taintCases) {
  test(`planTaints() ${name}`, () => {
    const eviction = "eviction" in options ? options.eviction : "evict";

    assert.deepEqual(shown(planTaints(subject, eviction, nowMs)), expected);
  });
}

test("silentConditions() sets the kubelet's conditions to unknown", () => {
  const conditions = silentConditions(node("a", "True"), nowMs);

  assert.deepEqual(
    conditions.map(({ type, status, reason }) => `${type} ${status} ${reason}`),
    [
      "Ready Unknown NodeStatusUnknown",
      "MemoryPressure Unknown NodeStatusNeverUpdated",
      "DiskPressure Unknown NodeStatusNeverUpdated",
      "PIDPressure Unknown NodeStatusNeverUpdated",
    ],
  );
});

const nodes = (ready: number, failed: number) => [
  ...Array.from({ length: ready }, (_, index) => node(`r${index}`, "True")),
  ...Array.from({ length: failed }, (_, index) => node(`f${index}`, "Unknown")),
];

const rates = [
  { name: "one of three", all: nodes(2, 1), rate: 0.1 },
  { name: "most of a small zone", all: nodes(2, 4), rate: 0 },
  { name: "most of a large zone", all: nodes(20, 40), rate: 0.01 },
  { name: "all of a zone, but not of the cluster", all: [...nodes(0, 5), node("o", "True", {}, "y")], rate: 0.1 },
  { name: "all", all: nodes(0, 3), rate: 0 },
];

for (const { name, all, rate } of rates) {
  test(`evictionRate() is ${rate} when ${name} failed`, () => assert.equal(evictionRate(all, ":z"), rate));
}
