import assert from "node:assert/strict";
import { test } from "node:test";
import { judge, makeNode, makePod, scoresOf, snapshotOf } from "#testing/scheduling.ts";
import { taintToleration } from "./taint-toleration.ts";

const taint = (effect: string, value = "gpu") => ({ key: "only", value, effect });
const refusal = { reasons: ["node(s) had untolerated taint(s)"], isFinal: true };

const cases = [
  { name: "accepts a node without taints", taints: [], tolerations: [], verdict: undefined },
  { name: "refuses NoSchedule", taints: [taint("NoSchedule")], tolerations: [], verdict: refusal },
  { name: "refuses NoExecute", taints: [taint("NoExecute")], tolerations: [], verdict: refusal },
  { name: "accepts PreferNoSchedule", taints: [taint("PreferNoSchedule")], tolerations: [], verdict: undefined },
  {
    name: "accepts a taint that is tolerated by value",
    taints: [taint("NoSchedule")],
    tolerations: [{ key: "only", value: "gpu" }],
    verdict: undefined,
  },
  {
    name: "refuses another value",
    taints: [taint("NoSchedule")],
    tolerations: [{ key: "only", value: "tpu" }],
    verdict: refusal,
  },
  {
    name: "refuses if one of two taints is not tolerated",
    taints: [taint("NoSchedule"), taint("NoExecute")],
    tolerations: [{ key: "only", operator: "Exists" as const, effect: "NoSchedule" as const }],
    verdict: refusal,
  },
  {
    name: "accepts everything for a pod that tolerates everything",
    taints: [taint("NoSchedule"), taint("NoExecute")],
    tolerations: [{ operator: "Exists" as const }],
    verdict: undefined,
  },
];
for (const { name, taints, tolerations, verdict } of cases) {
  test(`TaintToleration ${name}`, () => {
    const snapshot = snapshotOf([makeNode("a", { spec: { taints } })]);

    assert.deepEqual(judge(taintToleration, makePod("p", { tolerations }), snapshot, "a"), verdict);
  });
}

test("TaintToleration prefers nodes with fewer PreferNoSchedule taints", () => {
  const mild = (count: number) =>
    Array.from({ length: count }, (_, at) => ({ key: `k${at}`, effect: "PreferNoSchedule" }));
  const snapshot = snapshotOf([0, 1, 3].map((count) => makeNode(`n${count}`, { spec: { taints: mild(count) } })));

  assert.deepEqual(scoresOf(taintToleration, makePod("p"), snapshot), [100, 67, 0]);
  const tolerant = makePod("p", { tolerations: [{ operator: "Exists", effect: "PreferNoSchedule" }] });
  assert.deepEqual(scoresOf(taintToleration, tolerant, snapshot), [100, 100, 100]);
});

test("TaintToleration waits for a node that lost an untolerated taint", () => {
  const clean = makeNode("a");
  const tainted = makeNode("a", { spec: { taints: [taint("NoSchedule")] } });
  const helps = (object: typeof clean, previous?: typeof clean) => {
    const change = previous ? "updated" : "created";
    return taintToleration.retryOn?.node?.(makePod("p"), { kind: "Node", change, object, previous, info: undefined });
  };

  assert.equal(helps(clean), true);
  assert.equal(helps(tainted), false);
  assert.equal(helps(clean, tainted), true);
  assert.equal(helps(clean, clean), false);
});
