import assert from "node:assert/strict";
import { test } from "node:test";
import { judge, makeNode, makePod, snapshotOf } from "#testing/scheduling.ts";
import { nodeName } from "./node-name.ts";

const cases = [
  { name: "accepts any node for a pod that names none", asked: undefined, verdict: undefined },
  { name: "accepts the node that the pod names", asked: "a", verdict: undefined },
  {
    name: "refuses every other node",
    asked: "b",
    verdict: { reasons: ["node(s) didn't match the requested node name"], isFinal: true },
  },
];
for (const { name, asked, verdict } of cases) {
  test(`NodeName ${name}`, () => {
    const pod = makePod("p", asked ? { nodeName: asked } : {});

    assert.deepEqual(judge(nodeName, pod, snapshotOf([makeNode("a")]), "a"), verdict);
  });
}

test("NodeName waits for new nodes only", () => {
  const at = { kind: "Node", object: makeNode("a"), previous: undefined, info: undefined } as const;

  assert.equal(nodeName.retryOn?.node?.(makePod("p"), { ...at, change: "created" }), true);
  assert.equal(nodeName.retryOn?.node?.(makePod("p"), { ...at, change: "updated" }), false);
});
