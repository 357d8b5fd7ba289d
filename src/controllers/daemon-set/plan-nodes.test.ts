import assert from "node:assert/strict";
import { test } from "node:test";
import { DaemonSet } from "#api/apps/daemon-set.ts";
import { Node } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import { type InputOf } from "#api/resource.ts";
import { build } from "#testing/build.ts";
import { daemonPod, fitOf, nodeOf, tolerationsOf } from "./daemon-pod.ts";
import { type Place, planDaemons } from "./plan-nodes.ts";

const nowMs = Date.UTC(2026, 0, 1, 8);
const at = (secondsAgo: number) => new Date(nowMs - secondsAgo * 1000).toISOString().replace(".000", "");
const labels = { app: "agent" };

const setOf = (spec: Partial<InputOf<DaemonSet>["spec"]> = {}, pod: object = {}): DaemonSet =>
  build(DaemonSet, {
    metadata: { name: "agent" },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "c", image: "i" }], ...pod } },
      ...spec,
    },
  });

/** A pod in a few words: its name, `old` or nothing, and `starting`, `ending`, `failed`. */
function pod(text: string): Pod {
  const [name = "", ...words] = text.split(" ");
  const phase = words.includes("failed") ? "Failed" : words.includes("starting") ? "Pending" : "Running";
  return build(Pod, {
    metadata: {
      name,
      creationTimestamp: at(100),
      labels: { ...labels, "controller-revision-hash": words.includes("old") ? "old" : "new" },
      ...(words.includes("ending") ? { deletionTimestamp: at(1) } : {}),
    },
    spec: { nodeName: "somewhere", containers: [{ name: "c", image: "i" }] },
    status: {
      phase,
      conditions: [{ type: "Ready", status: phase === "Running" ? "True" : "False", lastTransitionTime: at(5) }],
    },
  });
}

const rolling = (rollingUpdate: object) => ({ updateStrategy: { type: "RollingUpdate", rollingUpdate } });
const surge = rolling({ maxUnavailable: 0, maxSurge: 1 });

interface Case {
  readonly name: string;
  readonly spec?: Partial<InputOf<DaemonSet>["spec"]>;
  /** By node, its pods. */
  readonly nodes: Readonly<Record<string, readonly string[]>>;
  readonly fit?: Partial<Place>;
  readonly create?: readonly string[];
  readonly remove?: readonly string[];
}
const cases: readonly Case[] = [
  { name: "gives each node a pod", nodes: { a: [], b: ["b1"] }, create: ["a"] },
  { name: "waits for the end of a pod", nodes: { a: ["a1 ending"] } },
  { name: "does not wait for a pod that has ended", nodes: { a: ["a1 failed ending"] }, create: ["a"] },
  { name: "replaces a pod that has failed", nodes: { a: ["a1 failed"] }, remove: ["a1"] },
  { name: "keeps one of several pods", nodes: { a: ["a1", "a2"] }, remove: ["a2"] },
  { name: "keeps a pod where no new one may start", nodes: { a: ["a1"] }, fit: { shouldRun: false } },
  {
    name: "ends a pod that may not stay",
    nodes: { a: ["a1"] },
    fit: { shouldRun: false, mayStay: false },
    remove: ["a1"],
  },
  { name: "updates as many as may be missing", nodes: { a: ["a1 old"], b: ["b1 old"] }, remove: ["a1"] },
  { name: "updates no more while one is missing", nodes: { a: ["a1 starting"], b: ["b1 old"] } },
  {
    name: "updates one that does not work at any time",
    nodes: { a: ["a1 starting"], b: ["b1 old starting"] },
    remove: ["b1"],
  },
  {
    name: "updates a share of the nodes",
    spec: rolling({ maxUnavailable: "50%" }),
    nodes: { a: ["a1 old"], b: ["b1 old"], c: ["c1 old"] },
    remove: ["a1", "b1"],
  },
  {
    name: "updates nothing by itself with OnDelete",
    spec: { updateStrategy: { type: "OnDelete" } },
    nodes: { a: ["a1 old"] },
  },
  {
    name: "starts a new pod beside the old one with a surge",
    spec: surge,
    nodes: { a: ["a1 old"], b: ["b1 old"] },
    create: ["a"],
  },
  {
    name: "keeps both until the new one is available",
    spec: surge,
    nodes: { a: ["a1 old", "a2 starting"], b: ["b1 old"] },
  },
  {
    name: "ends the old one when the new one is available",
    spec: surge,
    nodes: { a: ["a1 old", "a2"], b: ["b1 old"] },
    remove: ["a1"],
  },
  {
    name: "ends an old one that does not work",
    spec: surge,
    nodes: { a: ["a1 old starting", "a2 starting"] },
    remove: ["a1"],
  },
];
for (const { name, spec = {}, nodes, fit = {}, create = [], remove = [] } of cases) {
  test(`planDaemons() ${name}`, () => {
    const set = setOf(spec);
    const places = Object.entries(nodes).map(([node, pods]) => ({
      node,
      pods: pods.map(pod),
      shouldRun: true,
      mayStay: true,
      ...fit,
    }));

    const plan = planDaemons({ set, hash: "new", nowMs }, places);

    assert.deepEqual(plan.create, create);
    assert.deepEqual(plan.remove.map(({ metadata }) => metadata.name).toSorted(), remove);
  });
}

const nodeWith = (spec: InputOf<Node>["spec"] = {}, labels: Record<string, string> = {}): Node =>
  build(Node, { metadata: { name: "node-1", labels }, spec });
const taint = (key: string, effect: "NoSchedule" | "NoExecute" | "PreferNoSchedule") => ({ taints: [{ key, effect }] });

const fits: readonly { name: string; node: Node; pod?: object; shouldRun: boolean; mayStay: boolean }[] = [
  { name: "any node", node: nodeWith(), shouldRun: true, mayStay: true },
  {
    name: "a node that is not ready",
    node: nodeWith(taint("node.kubernetes.io/not-ready", "NoExecute")),
    shouldRun: true,
    mayStay: true,
  },
  {
    name: "a cordoned node",
    node: nodeWith(taint("node.kubernetes.io/unschedulable", "NoSchedule")),
    shouldRun: true,
    mayStay: true,
  },
  { name: "a node with a taint", node: nodeWith(taint("gpu", "NoSchedule")), shouldRun: false, mayStay: true },
  {
    name: "a node with a taint that evicts",
    node: nodeWith(taint("gpu", "NoExecute")),
    shouldRun: false,
    mayStay: false,
  },
  {
    name: "a node that it would rather avoid",
    node: nodeWith(taint("gpu", "PreferNoSchedule")),
    shouldRun: true,
    mayStay: true,
  },
  {
    name: "a node without network",
    node: nodeWith(taint("node.kubernetes.io/network-unavailable", "NoSchedule")),
    shouldRun: false,
    mayStay: true,
  },
  {
    name: "a node without network, for a pod of the host",
    node: nodeWith(taint("node.kubernetes.io/network-unavailable", "NoSchedule")),
    pod: { hostNetwork: true },
    shouldRun: true,
    mayStay: true,
  },
  {
    name: "a node without its label",
    node: nodeWith(),
    pod: { nodeSelector: { disk: "ssd" } },
    shouldRun: false,
    mayStay: false,
  },
  { name: "a node of another name", node: nodeWith(), pod: { nodeName: "node-2" }, shouldRun: false, mayStay: false },
];
for (const { name, node, pod = {}, ...expected } of fits) {
  test(`fitOf() judges ${name}`, () => {
    const set = setOf({}, pod);

    assert.deepEqual(fitOf(set, node, tolerationsOf(set)), expected);
  });
}

test("daemonPod() binds a pod to its node, and keeps the other terms of its affinity", () => {
  const required = { nodeSelectorTerms: [{ matchExpressions: [{ key: "disk", operator: "Exists" }] }] };
  const affinity = { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required } };
  const set = setOf({}, { affinity });

  const made = build(Pod, daemonPod(set, { node: "node-7", hash: "abc" }));

  assert.equal(nodeOf(made), "node-7");
  assert.equal(made.metadata.labels?.["controller-revision-hash"], "abc");
  const [term] =
    made.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  assert.deepEqual(term?.matchExpressions, [{ key: "disk", operator: "Exists" }]);
});
