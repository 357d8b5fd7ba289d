import assert from "node:assert/strict";
import { test } from "node:test";
import { Node } from "#api/core/node.ts";
import { type Pod } from "#api/core/pod.ts";
import { type InputOf } from "#api/resource.ts";
import { infoOf, makeNode, makePod, snapshotOf } from "#testing/scheduling.ts";
import { type PodTopologySpreadArgs } from "../../args/plugin-args.ts";
import { podTopologySpread } from "./pod-topology-spread.ts";

type Rule = NonNullable<NonNullable<InputOf<Pod>["spec"]>["topologySpreadConstraints"]>[number];

const labelSelector = { matchLabels: { app: "web" } };
const rule = (more: Partial<Rule> = {}): Rule => ({
  maxSkew: 1,
  topologyKey: "zone",
  whenUnsatisfiable: "DoNotSchedule",
  labelSelector,
  ...more,
});

/** Zone 1 has the nodes a and b, zone 2 has c, and d is in none. */
const nodes = [
  makeNode("a", { labels: { zone: "1", "kubernetes.io/hostname": "a", disk: "ssd" } }),
  makeNode("b", { labels: { zone: "1", "kubernetes.io/hostname": "b" } }),
  makeNode("c", { labels: { zone: "2", "kubernetes.io/hostname": "c" } }),
  makeNode("d"),
];
const web = { app: "web" };
/** `a a c`: pods on these nodes. */
const podsOn = (places: string, labels: Record<string, string> = web): Pod[] =>
  places
    .split(" ")
    .filter((nodeName) => nodeName)
    .map((nodeName, at) => makePod(`p${at}`, { nodeName, labels }));

const noLabel = "node(s) didn't match pod topology spread constraints (missing required label)";
const skewed = "node(s) didn't match pod topology spread constraints";

interface Case {
  readonly name: string;
  readonly places: string;
  readonly rules: readonly Rule[];
  readonly labels?: Record<string, string>;
  readonly spec?: Partial<InputOf<Pod>["spec"]>;
  readonly others?: readonly Pod[];
  readonly nodes?: readonly Node[];
  readonly fits: string;
}

const tainted = makeNode("c", {
  labels: { zone: "2" },
  spec: { taints: [{ key: "k", effect: "NoSchedule" }] },
});

const cases: readonly Case[] = [
  { name: "lets the first pod go anywhere", places: "", rules: [rule()], fits: "a b c" },
  { name: "allows no more than maxSkew above the emptiest zone", places: "a", rules: [rule()], fits: "c" },
  { name: "allows a larger skew", places: "a", rules: [rule({ maxSkew: 2 })], fits: "a b c" },
  { name: "counts by node", places: "a c", rules: [rule({ topologyKey: "kubernetes.io/hostname" })], fits: "b" },
  {
    name: "obeys all rules",
    places: "a c c",
    rules: [rule(), rule({ topologyKey: "kubernetes.io/hostname" })],
    fits: "b",
  },
  { name: "needs the labels of all rules", places: "a", rules: [rule(), rule({ topologyKey: "disk" })], fits: "a" },
  {
    name: "counts no pods of other labels",
    places: "c",
    rules: [rule()],
    others: podsOn("a a", { app: "db" }),
    fits: "a b",
  },
  {
    name: "does not count itself if the selector does not select it",
    places: "a",
    rules: [rule()],
    labels: { app: "db" },
    fits: "a b c",
  },
  {
    name: "takes zones that are missing for empty ones with minDomains",
    places: "a c",
    rules: [rule({ minDomains: 3 })],
    fits: "",
  },
  {
    name: "leaves out zones that the node selector excludes",
    places: "a a",
    rules: [rule()],
    spec: { nodeSelector: { zone: "1" } },
    fits: "a b c",
  },
  {
    name: "counts them with nodeAffinityPolicy Ignore",
    places: "a a",
    rules: [rule({ nodeAffinityPolicy: "Ignore" })],
    spec: { nodeSelector: { zone: "1" } },
    fits: "c",
  },
  {
    name: "counts tainted nodes",
    places: "a",
    rules: [rule()],
    nodes: [...nodes.slice(0, 2), tainted],
    fits: "c",
  },
  {
    name: "does not count them with nodeTaintsPolicy Honor",
    places: "a",
    rules: [rule({ nodeTaintsPolicy: "Honor" })],
    nodes: [...nodes.slice(0, 2), tainted],
    fits: "a b c",
  },
  {
    name: "does not count pods without a selector",
    places: "a a",
    rules: [rule({ labelSelector: {} })],
    fits: "a b c",
  },
];

function answerFor({ name, places, rules, labels = web, spec = {}, others = [], nodes: given = nodes }: Case) {
  const snapshot = snapshotOf(given, [...podsOn(places), ...others.map((pod, at) => renamed(pod, `other${at}`))]);
  const pod = makePod(name.replaceAll(" ", "-"), { labels, topologySpreadConstraints: [...rules], ...spec });
  return { snapshot, answer: podTopologySpread(() => []).acrossNodes?.(pod, snapshot) };
}

const renamed = (pod: Pod, name: string): Pod => ({ ...pod, metadata: { ...pod.metadata, name, uid: name } });

for (const one of cases) {
  test(`PodTopologySpread ${one.name}`, () => {
    const { snapshot, answer } = answerFor(one);

    const fitting = snapshot.nodes.filter(({ slot }) => !answer?.filter?.(slot)).map(({ name }) => name);

    assert.equal(fitting.join(" "), one.fits);
  });
}

test("PodTopologySpread says whether a label is missing, which no end of a pod changes, or the skew is too large", () => {
  const { snapshot, answer } = answerFor({ name: "p", places: "a", rules: [rule()], fits: "" });
  const verdict = (name: string) => answer?.filter?.(infoOf(snapshot, name).slot);

  assert.deepEqual(verdict("d"), { reasons: [noLabel], isFinal: true });
  assert.deepEqual(verdict("a"), { reasons: [skewed], isFinal: false });
});

const scoring: { name: string; places: string; rules: readonly Rule[]; peers?: boolean; scores: number[] }[] = [
  { name: "nothing without rules", places: "a", rules: [], scores: [] },
  {
    name: "zones with few pods higher, and nodes without the label 0",
    places: "a b",
    rules: [rule({ whenUnsatisfiable: "ScheduleAnyway" })],
    scores: [0, 0, 100, 0],
  },
  {
    name: "by nodes and zones for pods of one controller",
    places: "a a a",
    rules: [],
    peers: true,
    scores: [0, 71, 71, 100],
  },
];
for (const { name, places, rules, peers, scores } of scoring) {
  test(`PodTopologySpread scores ${name}`, () => {
    const snapshot = snapshotOf(nodes, podsOn(places));
    const pod = makePod("p", { labels: web, topologySpreadConstraints: [...rules] });
    const plugin = podTopologySpread(() => (peers ? [{ key: "app", operator: "in", values: ["web"] }] : []));
    const slots = Int32Array.from(snapshot.nodes, ({ slot }) => slot);

    const given = plugin.acrossNodes?.(pod, snapshot)?.score?.(slots, new Float64Array(slots.length)) ?? [];

    assert.deepEqual([...given], scores);
  });
}

const lists: { name: string; args: PodTopologySpreadArgs; fits: string }[] = [
  { name: "upstream's rules reject nothing", args: { defaultingType: "System" }, fits: "a b c d" },
  { name: "an empty list is no rule", args: { defaultingType: "List", defaultConstraints: [] }, fits: "a b c d" },
  {
    name: "those of a list count",
    args: {
      defaultingType: "List",
      defaultConstraints: [{ maxSkew: 1, topologyKey: "zone", whenUnsatisfiable: "DoNotSchedule" }],
    },
    fits: "c",
  },
];
for (const { name, args, fits } of lists) {
  test(`PodTopologySpread for pods without rules: ${name}`, () => {
    const snapshot = snapshotOf(nodes, podsOn("a"));
    const plugin = podTopologySpread(() => [{ key: "app", operator: "in", values: ["web"] }], args);
    const answer = plugin.acrossNodes?.(makePod("p", { labels: web }), snapshot);

    const fitting = snapshot.nodes.filter(({ slot }) => !answer?.filter?.(slot)).map((info) => info.name);

    assert.equal(fitting.join(" "), fits);
  });
}

const wakes: { name: string; change: "created" | "deleted"; pod: Pod; helps: boolean }[] = [
  { name: "a pod that counts goes", change: "deleted", pod: makePod("q", { nodeName: "a", labels: web }), helps: true },
  {
    name: "a pod that counts comes",
    change: "created",
    pod: makePod("q", { nodeName: "a", labels: web }),
    helps: true,
  },
  { name: "another pod goes", change: "deleted", pod: makePod("q", { nodeName: "a" }), helps: false },
];
for (const { name, change, pod, helps } of wakes) {
  test(`PodTopologySpread ${helps ? "tries" : "does not try"} a pod again when ${name}`, () => {
    const { retryOn } = podTopologySpread(() => []);
    const waiting = makePod("p", { labels: web, topologySpreadConstraints: [rule()] });
    const event = { kind: "Pod", change, object: pod, freesRoom: true, info: undefined } as const;

    assert.equal(retryOn?.otherPod?.(waiting, event), helps);
  });
}
