import assert from "node:assert/strict";
import { test } from "node:test";
import { Lease } from "#api/coordination/lease.ts";
import { Event } from "#api/core/event.ts";
import { Node, type Taint } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import { findCondition } from "#api/meta/condition.ts";
import { ClusterRole } from "#api/rbac/cluster-role.ts";
import { type InputOf } from "#api/resource.ts";
import { isNotFound } from "#api/status.ts";
import { runReconcilers } from "#runtime/run-reconciler.ts";
import { build } from "#testing/build.ts";
import { heartbeats, podRunner } from "#testing/pod-runner.ts";
import { startCluster, type TestCluster } from "#testing/start-cluster.ts";
import { aggregateRules } from "./cluster-role-aggregation.ts";
import { evictionRate, planTaints, silentConditions } from "./node/plan-node-health.ts";
import { planEviction } from "./node/taint-eviction.ts";
import { surplus } from "./pod-gc.ts";

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
    name: "marks a node that cannot be reached",
    subject: node("a", "Unknown"),
    expected: ["unreachable:NoSchedule", "unreachable:NoExecute"],
  },
  {
    name: "holds back eviction when told to",
    subject: node("a", "False"),
    eviction: "wait",
    expected: ["not-ready:NoSchedule"],
  },
  {
    name: "swaps the taint of a node that was evicting already",
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
    name: "keeps the taints of others and clears its own",
    subject: node("a", "True", { taints: [taint("not-ready", "NoSchedule"), { key: "x/mine", effect: "NoExecute" }] }),
    expected: ["mine:NoExecute"],
  },
  {
    name: "marks a node that takes no pods",
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

test("silentConditions() forgets what the kubelet said", () => {
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

const pod = (name: string, spec: InputOf<Pod>["spec"] = {}, status: InputOf<Pod>["status"] = {}) =>
  build(Pod, {
    metadata: { name, namespace: "default", creationTimestamp: "2026-01-01T07:00:00Z" },
    spec: { containers: [{ name: "c", image: "i" }], ...spec },
    status,
  });
const unreachable = { ...taint("unreachable", "NoExecute"), timeAdded: now };
const evictions = [
  { name: "lets a pod without taints be", taints: [], due: undefined },
  { name: "takes a pod that does not tolerate at once", taints: [unreachable], due: nowMs },
  {
    name: "waits as long as the pod tolerates",
    taints: [unreachable],
    tolerations: [{ key: "node.kubernetes.io/unreachable", operator: "Exists", tolerationSeconds: 300 }],
    due: nowMs + 300_000,
  },
  {
    name: "waits for ever if the pod does",
    taints: [unreachable],
    tolerations: [{ operator: "Exists" }],
    due: undefined,
  },
  {
    name: "counts from when it was seen if the taint tells no time, however old the pod is",
    taints: [taint("maintenance", "NoExecute")],
    tolerations: [{ key: "node.kubernetes.io/maintenance", operator: "Exists", tolerationSeconds: 60 }],
    due: nowMs + 50_000,
  },
  {
    name: "goes by the first of several",
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

test("surplus() takes evicted pods first, then the oldest", () => {
  const old = pod("a", {}, { phase: "Succeeded" });
  const evicted = pod("b", {}, { phase: "Failed", reason: "Evicted" });
  const other = pod("c", {}, { phase: "Failed" });

  assert.deepEqual(surplus([other, old, evicted], 1), [evicted, old]);
  assert.deepEqual(surplus([other], 1), []);
});

test("aggregateRules() joins the rules of matching roles, each once, in the order of their names", () => {
  const rule = (resource: string) => ({ apiGroups: [""], resources: [resource], verbs: ["get"] });
  const role = (name: string, rules: ReturnType<typeof rule>[]) =>
    build(ClusterRole, { metadata: { name, labels: { to: "view" } }, rules });
  const view = build(ClusterRole, {
    metadata: { name: "view", labels: { to: "view" } },
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: { to: "view" } }] },
  });

  const rules = aggregateRules(view, [role("b", [rule("pods"), rule("nodes")]), view, role("a", [rule("pods")])]);

  assert.deepEqual(rules, [rule("pods"), rule("nodes")]);
});

/** Two nodes, of which the first goes silent when the test says so. */
async function startTwoNodes(): Promise<TestCluster & { silence(): void }> {
  const silent = new AbortController();
  const cluster = await startCluster({
    components: (deps) => [
      (stop) => runReconcilers([podRunner()], deps, stop),
      (stop) => heartbeats(deps, ["b"], stop),
      (stop) => heartbeats(deps, ["a"], AbortSignal.any([stop, silent.signal])).catch(() => undefined),
    ],
  });
  const resources = { cpu: "100", memory: "100Gi", pods: "100" };
  const conditions = [{ type: "Ready", status: "True" }];
  for (const name of ["a", "b"]) {
    const status = { capacity: resources, allocatable: resources, conditions };
    await cluster.client.create(Node, { metadata: { name }, status });
  }
  await cluster.settle();
  return { ...cluster, silence: () => silent.abort() };
}
const podOn = (name: string, nodeName: string) => ({
  metadata: { name, namespace: "default" },
  spec: { nodeName, containers: [{ name: "c", image: "i" }] },
});

test("nodes get a range each and lose their first taints", async () => {
  await using cluster = await startTwoNodes();

  const all = await cluster.list(Node);

  assert.deepEqual(
    all.map(({ spec }) => [spec.podCIDR, spec.taints]),
    [
      ["10.244.0.0/24", undefined],
      ["10.244.1.0/24", undefined],
    ],
  );
});

test("a node that goes silent is marked, its pods are not ready, and after five minutes they go", async () => {
  await using cluster = await startTwoNodes();
  await cluster.client.create(Pod, podOn("p", "a"));
  await cluster.settle();
  const ready = async () => {
    const { status } = await cluster.client.get(Pod, { namespace: "default", name: "p" });
    return findCondition(status.conditions, "Ready")?.status;
  };
  const before = await ready();

  cluster.silence();
  await cluster.clock.advance(62_000);
  const silent = await cluster.client.get(Node, { name: "a" });
  const after = await ready();
  await cluster.clock.advance(310_000);

  assert.equal(findCondition(silent.status.conditions, "Ready")?.message, "Kubelet stopped posting node status.");
  assert.deepEqual(shown(silent.spec.taints ?? []), ["unreachable:NoSchedule", "unreachable:NoExecute"]);
  assert.deepEqual([before, after], ["True", "False"]);
  await assert.rejects(cluster.client.get(Pod, { namespace: "default", name: "p" }), isNotFound);
});

test("a node that speaks again loses its taints", async () => {
  await using cluster = await startTwoNodes();
  cluster.silence();
  await cluster.clock.advance(62_000);

  const { metadata } = await cluster.client.get(Lease, { namespace: "kube-node-lease", name: "a" });
  await cluster.client.update(Lease, { metadata, spec: { renewTime: "2026-01-01T10:00:00.000000Z" } });
  const conditions = [{ type: "Ready", status: "True", lastHeartbeatTime: "2026-01-01T10:00:00Z" }];
  const current = await cluster.client.get(Node, { name: "a" });
  await cluster.client.updateStatus(Node, { ...current, status: { ...current.status, conditions } });
  await cluster.clock.advance(2_000);

  const { spec } = await cluster.client.get(Node, { name: "a" });
  assert.equal(spec.taints, undefined);
});

test("a node is told of when it ceases to be ready, and not because it is new", async () => {
  await using cluster = await startTwoNodes();
  const notReady = { conditions: [{ type: "Ready", status: "False", lastTransitionTime: "2026-01-01T08:00:00Z" }] };
  await cluster.client.create(Node, { metadata: { name: "new" }, status: notReady });
  const current = await cluster.client.get(Node, { name: "b" });
  await cluster.client.updateStatus(Node, { ...current, status: { ...current.status, ...notReady } });
  await cluster.clock.advance(10_000);

  const events = await cluster.list(Event);

  const told = events
    .filter(({ reason }) => reason === "NodeNotReady")
    .map(({ involvedObject }) => involvedObject.name);
  assert.deepEqual(told, ["b"]);
});

test("pods of a node that is gone go after a while", async () => {
  await using cluster = await startCluster();
  await cluster.settle();
  await cluster.client.create(Pod, podOn("p", "nowhere"));

  await cluster.clock.advance(30_000);
  const early = await cluster.list(Pod);
  await cluster.clock.advance(20_000);

  assert.equal(early.length, 1);
  assert.deepEqual(await cluster.list(Pod), []);
});
