import assert from "node:assert/strict";
import { test } from "node:test";
import { type Pod } from "#api/core/pod.ts";
import { type InputOf } from "#api/resource.ts";
import { infoOf, makeNode, makePod, snapshotOf } from "#testing/scheduling.ts";
import { type InterPodAffinityArgs } from "../../args/plugin-args.ts";
import { interPodAffinity } from "./inter-pod-affinity.ts";

type Affinity = NonNullable<NonNullable<InputOf<Pod>["spec"]>["affinity"]>;
type Term = NonNullable<NonNullable<Affinity["podAffinity"]>["requiredDuringSchedulingIgnoredDuringExecution"]>[number];

const term = (more: Partial<Term> = {}): Term => ({
  topologyKey: "zone",
  labelSelector: { matchLabels: { app: "db" } },
  ...more,
});
const near = (...required: Term[]): Affinity => ({
  podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required },
});
const apart = (...required: Term[]): Affinity => ({
  podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required },
});

/** Zone 1 has the nodes a and b, zone 2 has c, and d is in none. */
const nodes = [
  makeNode("a", { labels: { zone: "1" } }),
  makeNode("b", { labels: { zone: "1" } }),
  makeNode("c", { labels: { zone: "2" } }),
  makeNode("d"),
];
const db = { app: "db" };
const placed = (name: string, nodeName: string, more: Parameters<typeof makePod>[1] = {}): Pod =>
  makePod(name, { nodeName, labels: db, ...more });
const elsewhere = (pod: Pod, namespace: string): Pod => ({ ...pod, metadata: { ...pod.metadata, namespace } });

const teams: Record<string, Record<string, string>> = { default: { team: "x" }, other: { team: "x" } };
const plugin = (args?: InterPodAffinityArgs) => interPodAffinity((name) => teams[name], args);

interface Case {
  readonly name: string;
  readonly affinity?: Affinity;
  readonly labels?: Record<string, string>;
  readonly pods: readonly Pod[];
  readonly fits: string;
}

const cases: readonly Case[] = [
  { name: "keeps a pod near to one that it wants", affinity: near(term()), pods: [placed("q", "a")], fits: "a b" },
  { name: "refuses all nodes if there is no such pod", affinity: near(term()), pods: [], fits: "" },
  {
    name: "lets the first of a group go to any zone",
    affinity: near(term()),
    labels: db,
    pods: [],
    fits: "a b c",
  },
  {
    name: "wants all terms met",
    affinity: near(term(), term({ labelSelector: { matchLabels: { app: "cache" } } })),
    pods: [placed("q", "a"), placed("r", "c"), placed("s", "c", { labels: { app: "cache" } })],
    fits: "",
  },
  { name: "keeps a pod away from one", affinity: apart(term()), pods: [placed("q", "a")], fits: "c d" },
  {
    name: "keeps a pod away from one that does not want it",
    labels: { app: "web" },
    pods: [placed("q", "c", { affinity: apart(term({ labelSelector: { matchLabels: { app: "web" } } })) })],
    fits: "a b d",
  },
  {
    name: "looks only at the pod's own namespace",
    affinity: apart(term()),
    pods: [elsewhere(placed("q", "a"), "other")],
    fits: "a b c d",
  },
  {
    name: "looks at namespaces that are named",
    affinity: apart(term({ namespaces: ["other"] })),
    pods: [elsewhere(placed("q", "a"), "other"), placed("r", "c")],
    fits: "c d",
  },
  {
    name: "looks at namespaces with labels",
    affinity: apart(term({ namespaceSelector: { matchLabels: { team: "x" } } })),
    pods: [elsewhere(placed("q", "a"), "other"), elsewhere(placed("r", "c"), "third")],
    fits: "c d",
  },
  {
    name: "looks at all namespaces with an empty selector",
    affinity: apart(term({ namespaceSelector: {} })),
    pods: [elsewhere(placed("q", "a"), "other"), elsewhere(placed("r", "c"), "third")],
    fits: "d",
  },
];

for (const { name, affinity, labels = {}, pods, fits } of cases) {
  test(`InterPodAffinity ${name}`, () => {
    const snapshot = snapshotOf(nodes, pods);
    const pod = makePod("p", { labels, ...(affinity ? { affinity } : {}) });

    const answer = plugin().acrossNodes?.(pod, snapshot);

    const fitting = snapshot.nodes.filter(({ slot }) => !answer?.filter?.(slot)).map((info) => info.name);
    assert.equal(fitting.join(" "), fits);
  });
}

test("InterPodAffinity says which rule a node breaks, and whether the end of pods could help", () => {
  const foe = placed("q", "c", { affinity: apart(term({ labelSelector: { matchLabels: { app: "web" } } })) });
  const snapshot = snapshotOf(nodes, [placed("r", "a"), foe]);
  const verdict = (affinity: Affinity, name: string) =>
    plugin()
      .acrossNodes?.(makePod("p", { labels: { app: "web" }, affinity }), snapshot)
      ?.filter?.(infoOf(snapshot, name).slot);

  assert.deepEqual(verdict(near(term()), "d"), { reasons: ["node(s) didn't match pod affinity rules"], isFinal: true });
  assert.deepEqual(verdict(apart(term()), "a"), {
    reasons: ["node(s) didn't match pod anti-affinity rules"],
    isFinal: false,
  });
  assert.deepEqual(verdict(near(term()), "c"), {
    reasons: ["node(s) didn't satisfy existing pods anti-affinity rules"],
    isFinal: false,
  });
});

const likes = (weight: number, kind: "podAffinity" | "podAntiAffinity" = "podAffinity"): Affinity => ({
  [kind]: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight, podAffinityTerm: term() }] },
});
const scoring: {
  name: string;
  affinity?: Affinity;
  labels?: Record<string, string>;
  pods: readonly Pod[];
  args?: InterPodAffinityArgs;
  scores: number[];
}[] = [
  { name: "nodes near to a pod that it likes", affinity: likes(5), pods: [placed("q", "a")], scores: [100, 100, 0, 0] },
  {
    name: "nodes far from a pod that it does not like",
    affinity: likes(5, "podAntiAffinity"),
    pods: [placed("q", "a")],
    scores: [0, 0, 100, 100],
  },
  {
    name: "nodes near to pods that like it",
    labels: db,
    pods: [placed("q", "c", { labels: {}, affinity: likes(5) })],
    scores: [0, 0, 100, 0],
  },
  {
    name: "nodes near to pods that need it",
    labels: db,
    pods: [placed("q", "c", { labels: {}, affinity: near(term()) })],
    scores: [0, 0, 100, 0],
  },
  {
    name: "nothing for pods that need it with hardPodAffinityWeight 0",
    labels: db,
    pods: [placed("q", "c", { labels: {}, affinity: near(term()) })],
    args: { hardPodAffinityWeight: 0 },
    scores: [],
  },
  {
    name: "nothing for pods that like it with ignorePreferredTermsOfExistingPods",
    labels: db,
    pods: [placed("q", "c", { labels: {}, affinity: likes(5) })],
    args: { hardPodAffinityWeight: 1, ignorePreferredTermsOfExistingPods: true },
    scores: [],
  },
];
for (const { name, affinity, labels = {}, pods, args, scores } of scoring) {
  test(`InterPodAffinity scores ${name}`, () => {
    const snapshot = snapshotOf(nodes, pods);
    const pod = makePod("p", { labels, ...(affinity ? { affinity } : {}) });
    const slots = Int32Array.from(snapshot.nodes, ({ slot }) => slot);

    const given = plugin(args).acrossNodes?.(pod, snapshot)?.score?.(slots, new Float64Array(slots.length)) ?? [];

    assert.deepEqual([...given], scores);
  });
}

const changes: { name: string; affinity: Affinity; change: "created" | "deleted"; other: Pod; helps: boolean }[] = [
  {
    name: "a pod that it wants comes",
    affinity: near(term()),
    change: "created",
    other: placed("q", "a"),
    helps: true,
  },
  {
    name: "a pod that it avoids comes",
    affinity: apart(term()),
    change: "created",
    other: placed("q", "a"),
    helps: false,
  },
  {
    name: "a pod that it avoids goes",
    affinity: apart(term()),
    change: "deleted",
    other: placed("q", "a"),
    helps: true,
  },
  {
    name: "a pod that it does not care about goes",
    affinity: apart(term()),
    change: "deleted",
    other: placed("q", "a", { labels: {} }),
    helps: false,
  },
];
for (const { name, affinity, change, other, helps } of changes) {
  test(`InterPodAffinity ${helps ? "tries" : "does not try"} a pod again when ${name}`, () => {
    const event = { kind: "Pod", change, object: other, freesRoom: true, info: undefined } as const;

    assert.equal(plugin().retryOn?.otherPod?.(makePod("p", { affinity }), event), helps);
  });
}
