import assert from "node:assert/strict";
import { test } from "node:test";
import { type Node } from "#api/core/node.ts";
import { type Pod } from "#api/core/pod.ts";
import { PodDisruptionBudget } from "#api/policy/pod-disruption-budget.ts";
import { type InputOf } from "#api/resource.ts";
import { build } from "#testing/build.ts";
import { asking, makeNode, makePod, podKey, snapshotOf, testProfile } from "#testing/scheduling.ts";
import { Decider } from "../decide.ts";
import { Nominations } from "./nominations.ts";
import { type Preemption, planPreemption } from "./plan-preemption.ts";

interface PodParts {
  cpu?: string;
  priority?: number;
  started?: string;
  labels?: Record<string, string>;
  spec?: Partial<InputOf<Pod>["spec"]>;
  status?: InputOf<Pod>["status"];
}

function pod(name: string, node: string, parts: PodParts = {}): Pod {
  const { cpu = "1", priority = 0, started = "2026-01-01T00:00:00Z", labels = {}, spec = {}, status } = parts;
  const made = makePod(name, {
    containers: [asking({ cpu })],
    priority,
    labels,
    ...(node ? { nodeName: node } : {}),
    ...spec,
    status: status ?? { startTime: started },
  });
  return { ...made, metadata: { ...made.metadata, uid: name } };
}

const node = (name: string, cpu = "2", labels: Record<string, string> = {}): Node =>
  makeNode(name, { labels, status: { allocatable: { cpu, memory: "8Gi", pods: "10" } } });

const budget = (app: string, disruptionsAllowed: number): PodDisruptionBudget =>
  build(PodDisruptionBudget, {
    metadata: { name: app, namespace: "default" },
    spec: { selector: { matchLabels: { app } } },
    status: { disruptionsAllowed, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1 },
  });

interface Case {
  name: string;
  nodes: Node[];
  pods: Pod[];
  preemptor: Pod;
  budgets?: PodDisruptionBudget[];
  nominated?: readonly [Pod, string][];
  expected: string;
}

function plan({ nodes, pods, preemptor, budgets = [], nominated = [] }: Case): Preemption {
  const { plugins } = testProfile();
  const snapshot = snapshotOf(nodes, pods);
  const nominations = new Nominations();
  for (const [rival, at] of nominated) nominations.set(podKey(rival), rival, at);
  const random = () => 0;
  const decision = new Decider(testProfile(), snapshot, random, nominations).decide(preemptor);
  assert.equal(decision.node, undefined, "the pod must fit nowhere");
  const deps = { plugins, snapshot, nominations, budgets, random };
  return planPreemption(deps, { key: podKey(preemptor), pod: preemptor }, decision.rejections);
}

const say = (found: Preemption): string =>
  found.node === undefined
    ? found.message
    : `${found.node}: ${found.victims.map(({ pod }) => pod.metadata.name).join(" ")}`;

const high = (parts: PodParts = {}) => pod("high", "", { priority: 100, ...parts });
const apart = (app: string, topologyKey = "kubernetes.io/hostname") => ({
  affinity: {
    podAntiAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey, labelSelector: { matchLabels: { app } } }],
    },
  },
});
const web = { app: "web" };

const cases: Case[] = [
  {
    name: "ends the least important pod",
    nodes: [node("a")],
    pods: [pod("low", "a", { priority: 1 }), pod("lower", "a")],
    preemptor: high(),
    expected: "a: lower",
  },
  {
    name: "ends the younger of equals",
    nodes: [node("a")],
    pods: [pod("young", "a", { started: "2026-01-02T00:00:00Z" }), pod("old", "a")],
    preemptor: high(),
    expected: "a: young",
  },
  {
    name: "ends as many as needed",
    nodes: [node("a", "3")],
    pods: [pod("x", "a"), pod("y", "a", { priority: 5 }), pod("z", "a", { priority: 9 })],
    preemptor: high({ cpu: "2" }),
    expected: "a: y x",
  },
  {
    name: "ends nobody of the same priority",
    nodes: [node("a")],
    pods: [pod("x", "a", { priority: 100 }), pod("y", "a", { priority: 200 })],
    preemptor: high(),
    expected: "0/1 nodes are available: 1 No preemption victims found for incoming pod.",
  },
  {
    name: "says which nodes cannot be helped",
    nodes: [node("a"), makeNode("b", { spec: { unschedulable: true } }), node("c")],
    pods: [pod("x", "a", { cpu: "2", priority: 200 }), pod("y", "c", { cpu: "2", priority: 300 }), pod("z", "b")],
    preemptor: high(),
    expected:
      "0/3 nodes are available: 1 Preemption is not helpful for scheduling, " +
      "2 No preemption victims found for incoming pod.",
  },
  {
    name: "does not end pods where that is not enough",
    nodes: [node("a")],
    pods: [pod("x", "a", { priority: 200 }), pod("y", "a")],
    preemptor: high({ cpu: "2" }),
    expected: "0/1 nodes are available: 1 Insufficient cpu.",
  },
  {
    name: "honours a policy never to preempt",
    nodes: [node("a")],
    pods: [pod("x", "a", { cpu: "2" })],
    preemptor: high({ spec: { preemptionPolicy: "Never" } }),
    expected: "not eligible due to preemptionPolicy=Never.",
  },
  {
    name: "rather ends a more important pod than one that a budget protects",
    nodes: [node("a")],
    pods: [pod("x", "a", { labels: web }), pod("y", "a", { priority: 50 })],
    preemptor: high(),
    budgets: [budget("web", 0)],
    expected: "a: y",
  },
  {
    name: "counts a budget down",
    nodes: [node("a"), node("b")],
    pods: [pod("x", "a", { labels: web }), pod("y", "a", { labels: web }), pod("z", "b", { cpu: "2", priority: 50 })],
    preemptor: high({ cpu: "2" }),
    budgets: [budget("web", 1)],
    expected: "b: z",
  },
  {
    name: "breaks a budget if there is no other way",
    nodes: [node("a")],
    pods: [pod("x", "a", { labels: web, cpu: "2" })],
    preemptor: high(),
    budgets: [budget("web", 0)],
    expected: "a: x",
  },
  {
    name: "prefers the node whose most important victim is the least important",
    nodes: [node("a"), node("b")],
    pods: [pod("x", "a", { cpu: "2", priority: 9 }), pod("y", "b"), pod("z", "b", { priority: 5 })],
    preemptor: high({ cpu: "2" }),
    expected: "b: z y",
  },
  {
    name: "prefers fewer victims",
    nodes: [node("a"), node("b")],
    pods: [pod("x", "a"), pod("y", "a"), pod("z", "b", { cpu: "2" })],
    preemptor: high({ cpu: "2" }),
    expected: "b: z",
  },
  {
    name: "prefers the victim that has run for the shortest time",
    nodes: [node("a"), node("b")],
    pods: [pod("x", "a", { cpu: "2" }), pod("y", "b", { cpu: "2", started: "2026-02-01T00:00:00Z" })],
    preemptor: high({ cpu: "2" }),
    expected: "b: y",
  },
  {
    name: "ends a pod that the new one must not be near",
    nodes: [node("a", "4", { "kubernetes.io/hostname": "a" })],
    pods: [pod("x", "a", { labels: web }), pod("y", "a")],
    preemptor: high({ spec: apart("web") }),
    expected: "a: x",
  },
  {
    name: "ends nobody for a rule about pods on other nodes",
    nodes: [node("a", "4", { zone: "z" }), node("b", "4", { zone: "z" })],
    pods: [pod("x", "a", { labels: web }), pod("y", "b", { labels: web })],
    preemptor: high({ spec: apart("web", "zone") }),
    expected: "0/2 nodes are available: 2 node(s) didn't match pod anti-affinity rules.",
  },
  {
    name: "leaves the room for which a pod of the same priority waits",
    nodes: [node("a")],
    pods: [pod("x", "a"), pod("y", "a")],
    preemptor: high({ cpu: "1" }),
    nominated: [[pod("rival", "", { priority: 100 }), "a"]],
    expected: "a: x y",
  },
  {
    name: "waits while a victim of its nominated node still ends",
    nodes: [node("a"), node("b")],
    pods: [
      {
        ...pod("x", "a", {
          cpu: "2",
          status: {
            conditions: [
              { type: "DisruptionTarget", status: "True", reason: "PreemptionByScheduler" },
            ] as unknown as NonNullable<InputOf<Pod>["status"]>["conditions"] & object,
          },
        }),
      },
      pod("y", "b", { cpu: "2" }),
    ].map((each) =>
      each.metadata.name === "x"
        ? { ...each, metadata: { ...each.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } }
        : each,
    ),
    preemptor: high({ status: { nominatedNodeName: "a" } }),
    expected: "not eligible due to a terminating pod on the nominated node.",
  },
];
for (const each of cases) {
  test(`preemption ${each.name}`, () => assert.equal(say(plan(each)), each.expected));
}

test("planning a preemption leaves the snapshot as it was", () => {
  const labels = { "kubernetes.io/hostname": "a" };
  const snapshot = snapshotOf([node("a", "2", labels)], [pod("x", "a", { labels: web }), pod("y", "a")]);
  const preemptor = high({ cpu: "2", spec: apart("web") });
  const { plugins } = testProfile();
  const decider = new Decider(testProfile(), snapshot, () => 0);
  const before = decider.decide(preemptor);
  const deps = { plugins, snapshot, nominations: new Nominations(), budgets: [], random: () => 0 };

  planPreemption(
    deps,
    { key: podKey(preemptor), pod: preemptor },
    before.node === undefined ? before.rejections : new Map(),
  );

  assert.deepEqual(decider.decide(preemptor), before);
  assert.equal(snapshot.get("a")?.requested.milliCpu, 2000);
  assert.equal(snapshot.get("a")?.pods.size, 2);
});
