import assert from "node:assert/strict";
import { test } from "node:test";
import { Node, type NodeCondition, type Taint } from "#api/core/node.ts";
import { type InputOf } from "#api/resource.ts";
import { build } from "#testing/build.ts";
import { type NodeLifecycleOptions, planEvictionRate, planTaints, silentConditions } from "./plan-node-health.ts";
import { ZoneCounts } from "./zone-counts.ts";

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
const withConditions = (subject: Node, conditions: readonly Partial<NodeCondition>[]): Node => ({
  ...subject,
  status: { ...subject.status, conditions: [...(subject.status.conditions ?? []), ...(conditions as NodeCondition[])] },
});
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
  {
    name: "knows no condition by the name of something that objects inherit",
    subject: withConditions(node("a", "Unknown"), [
      { type: "constructor", status: "name" },
      { type: "toString", status: "call" },
      { type: "Ready", status: "constructor" },
    ]),
    expected: ["unreachable:NoSchedule", "unreachable:NoExecute"],
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
const aside = build(Node, {
  metadata: {
    name: "aside",
    labels: { "topology.kubernetes.io/zone": "z", "node.kubernetes.io/exclude-disruption": "" },
  },
});

const rates: readonly { name: string; all: Node[]; rate: number; options?: NodeLifecycleOptions }[] = [
  { name: "one of three", all: nodes(2, 1), rate: 0.1 },
  { name: "two of two others, which are too few", all: [...nodes(0, 2), node("o", "True")], rate: 0.1 },
  { name: "most of a small zone", all: nodes(2, 4), rate: 0 },
  { name: "just under the threshold of a small zone", all: nodes(46, 54), rate: 0.1 },
  { name: "just the threshold of a small zone", all: nodes(9, 11), rate: 0 },
  { name: "most of a zone of 50", all: nodes(20, 30), rate: 0 },
  { name: "most of a zone of 51", all: nodes(20, 31), rate: 0.01 },
  { name: "all of a zone, but not of the cluster", all: [...nodes(0, 5), node("o", "True", {}, "y")], rate: 0.1 },
  { name: "all", all: nodes(0, 3), rate: 0 },
  { name: "all that count", all: [...nodes(0, 3), aside], rate: 0 },
  { name: "one of three, with another rate", all: nodes(2, 1), rate: 2, options: { evictionRate: 2 } },
  {
    name: "half of a zone, with other limits",
    all: nodes(3, 3),
    rate: 0.5,
    options: { unhealthyZoneThreshold: 0.5, largeClusterSizeThreshold: 5, secondaryEvictionRate: 0.5 },
  },
];
for (const { name, all, rate, options } of rates) {
  test(`planEvictionRate() is ${rate} when ${name} failed`, () => {
    const zones = new ZoneCounts();
    for (const object of all) zones.note({ type: "put", object, previous: undefined, trace: undefined });

    assert.equal(planEvictionRate(zones.in(":z"), zones.all, options), rate);
  });
}

test("ZoneCounts follows nodes that fail, move and go", () => {
  const zones = new ZoneCounts();
  const put = (object: Node, previous?: Node) => zones.note({ type: "put", object, previous, trace: undefined });
  const [good, bad, moved] = [node("a", "True"), node("a", "Unknown"), node("a", "Unknown", {}, "y")];

  put(good);
  put(bad, good);
  const failed = { ...zones.in(":z") };
  put(moved, bad);
  const left = zones.in(":z");
  const entered = { ...zones.in(":y") };
  zones.note({ type: "delete", object: moved, trace: undefined });

  assert.deepEqual(
    [failed, left, entered],
    [
      { total: 1, failed: 1 },
      { total: 0, failed: 0 },
      { total: 1, failed: 1 },
    ],
  );
  assert.deepEqual(zones.all, { total: 0, failed: 0 });
});
