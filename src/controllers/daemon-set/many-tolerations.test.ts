import assert from "node:assert/strict";
import { test } from "node:test";
import { type DaemonSet } from "#api/apps/daemon-set.ts";
import { type Node } from "#api/core/node.ts";
import { placesOf } from "./plan-nodes.ts";

test("nodes are matched one step each, so that many tolerations hold nobody up", () => {
  const tolerations = [{ key: "a", operator: "Exists" }];
  const set = { spec: { template: { spec: { tolerations } } } } as unknown as DaemonSet;
  const nodeWith = (name: string, key: string): Node =>
    ({ metadata: { name }, spec: { taints: [{ key, effect: "NoSchedule" }] } }) as unknown as Node;
  const steps = placesOf(set, [nodeWith("n1", "a"), nodeWith("n2", "b")], new Map());
  assert.equal(steps.next().done, false);
  assert.equal(steps.next().done, false);
  const { done, value = [] } = steps.next();
  assert.equal(done, true);
  assert.deepEqual(
    value.map(({ node, shouldRun, mayStay }) => [node, shouldRun, mayStay]),
    [
      ["n1", true, true],
      ["n2", false, true],
    ],
  );
});
