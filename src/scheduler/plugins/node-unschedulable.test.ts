import assert from "node:assert/strict";
import { test } from "node:test";
import { judge, makeNode, makePod, snapshotOf } from "#testing/scheduling.ts";
import { nodeUnschedulable } from "./node-unschedulable.ts";

const open = makeNode("a");
const cordoned = makeNode("a", { spec: { unschedulable: true } });
const key = "node.kubernetes.io/unschedulable";
const refusal = { reasons: ["node(s) were unschedulable"], isFinal: true };

const cases = [
  { name: "accepts an ordinary node", node: open, pod: makePod("p"), verdict: undefined },
  { name: "refuses a cordoned node", node: cordoned, pod: makePod("p"), verdict: refusal },
  {
    name: "accepts a cordoned node for a pod that tolerates it",
    node: cordoned,
    pod: makePod("p", { tolerations: [{ key, operator: "Exists", effect: "NoSchedule" }] }),
    verdict: undefined,
  },
  {
    name: "requires a toleration of the right effect",
    node: cordoned,
    pod: makePod("p", { tolerations: [{ key, operator: "Exists", effect: "NoExecute" }] }),
    verdict: refusal,
  },
];
for (const { name, node, pod, verdict } of cases) {
  test(`NodeUnschedulable ${name}`, () => {
    assert.deepEqual(judge(nodeUnschedulable, pod, snapshotOf([node]), "a"), verdict);
  });
}

test("NodeUnschedulable waits for a node that can be used", () => {
  const helps = (change: "created" | "updated" | "deleted", object: typeof open, previous?: typeof open) =>
    nodeUnschedulable.retryOn?.node?.(makePod("p"), { kind: "Node", change, object, previous, info: undefined });

  assert.equal(helps("created", open), true);
  assert.equal(helps("created", cordoned), false);
  assert.equal(helps("updated", open, cordoned), true);
  assert.equal(helps("updated", open, open), false);
  assert.equal(helps("deleted", open), false);
});
