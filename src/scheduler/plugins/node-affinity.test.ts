import assert from "node:assert/strict";
import { test } from "node:test";
import { type Pod } from "#api/core/pod.ts";
import { type InputOf } from "#api/resource.ts";
import { judge, makeNode, makePod, scoresOf, snapshotOf } from "#testing/scheduling.ts";
import { nodeAffinity } from "./node-affinity.ts";

type Spec = Partial<InputOf<Pod>["spec"]>;
type Term = { matchExpressions?: Requirement[]; matchFields?: Requirement[] };
interface Requirement {
  key: string;
  operator: "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt";
  values?: string[];
}

const required = (...nodeSelectorTerms: Term[]): Spec => ({
  affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } },
});
const label = (key: string, operator: Requirement["operator"], ...values: string[]): Term => ({
  matchExpressions: [{ key, operator, ...(values.length > 0 ? { values } : {}) }],
});
const named = (...names: string[]): Term => ({
  matchFields: names.map((name) => ({ key: "metadata.name", operator: "In" as const, values: [name] })),
});

const node = makeNode("a", { labels: { disk: "ssd", cores: "8", size: "huge" } });
const cases: { name: string; spec: Spec; fits: boolean }[] = [
  { name: "accepts any node when nothing is asked", spec: {}, fits: true },
  { name: "honours the selector", spec: { nodeSelector: { disk: "ssd" } }, fits: true },
  { name: "refuses another value of the selector", spec: { nodeSelector: { disk: "hdd" } }, fits: false },
  { name: "refuses a missing label", spec: { nodeSelector: { gpu: "yes" } }, fits: false },
  { name: "ignores inherited property names", spec: required(label("constructor", "Exists")), fits: false },
  { name: "knows In", spec: required(label("disk", "In", "ssd", "nvme")), fits: true },
  { name: "handles In without a match", spec: required(label("disk", "In", "hdd")), fits: false },
  { name: "knows NotIn", spec: required(label("disk", "NotIn", "hdd")), fits: true },
  { name: "accepts a missing label for NotIn", spec: required(label("gpu", "NotIn", "old")), fits: true },
  { name: "knows Exists", spec: required(label("disk", "Exists")), fits: true },
  { name: "knows DoesNotExist", spec: required(label("disk", "DoesNotExist")), fits: false },
  { name: "knows Gt", spec: required(label("cores", "Gt", "4")), fits: true },
  { name: "handles Gt of equal numbers", spec: required(label("cores", "Gt", "8")), fits: false },
  { name: "knows Lt", spec: required(label("cores", "Lt", "16")), fits: true },
  { name: "does not compare text with numbers", spec: required(label("size", "Gt", "4")), fits: false },
  { name: "does not compare a missing label with numbers", spec: required(label("gpu", "Lt", "4")), fits: false },
  {
    name: "accepts one matching term of several",
    spec: required(label("disk", "In", "hdd"), label("cores", "Exists")),
    fits: true,
  },
  { name: "matches nothing with an empty term", spec: required({}), fits: false },
  { name: "matches the node's name", spec: required(named("a")), fits: true },
  {
    name: "needs both selector and affinity",
    spec: { nodeSelector: { gpu: "x" }, ...required(named("a")) },
    fits: false,
  },
];
for (const { name, spec, fits } of cases) {
  test(`NodeAffinity ${name}`, () => {
    const verdict = judge(nodeAffinity(), makePod("p", spec), snapshotOf([node]), "a");

    const refusal = { reasons: ["node(s) didn't match Pod's node affinity/selector"], isFinal: true };
    assert.deepEqual(verdict, fits ? undefined : refusal);
  });
}

test("NodeAffinity names the only nodes that can fit", () => {
  const candidates = (spec: Spec) => nodeAffinity().candidates?.(makePod("p", spec));

  assert.equal(candidates({}), undefined);
  assert.equal(candidates(required(label("disk", "Exists"))), undefined);
  assert.equal(candidates(required(named("a"), label("disk", "Exists"))), undefined);
  assert.deepEqual(candidates(required(named("a"), named("b"))), new Set(["a", "b"]));
  assert.deepEqual(candidates(required(named("a", "b"))), { reasons: ["pod affinity terms conflict"], isFinal: true });
});

test("NodeAffinity prefers nodes by the weight of the matching terms", () => {
  const prefer = (weight: number, preference: Term) => ({ weight, preference });
  const preferredDuringSchedulingIgnoredDuringExecution = [
    prefer(10, label("disk", "In", "ssd")),
    prefer(30, label("zone", "In", "z1")),
    prefer(5, {}),
  ];
  const pod = makePod("p", { affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution } } });
  const nodes = [
    makeNode("none"),
    makeNode("one", { labels: { disk: "ssd" } }),
    makeNode("both", { labels: { disk: "ssd", zone: "z1" } }),
  ];

  assert.deepEqual(scoresOf(nodeAffinity(), pod, snapshotOf(nodes)), [0, 25, 100]);
  assert.deepEqual(scoresOf(nodeAffinity(), makePod("p"), snapshotOf(nodes)), [0, 0, 0]);
});

test("NodeAffinity waits for a node that begins to match", () => {
  const pod = makePod("p", { nodeSelector: { disk: "ssd" } });
  const plain = makeNode("a");
  const helps = (object: typeof node, previous?: typeof node) => {
    const change = previous ? "updated" : "created";
    return nodeAffinity().retryOn?.node?.(pod, { kind: "Node", change, object, previous, info: undefined });
  };

  assert.equal(helps(node), true);
  assert.equal(helps(plain), false);
  assert.equal(helps(node, plain), true);
  assert.equal(helps(node, node), false);
});
