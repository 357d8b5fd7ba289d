import assert from "node:assert/strict";
import { test } from "node:test";
import { judge, makeNode, makePod, snapshotOf } from "#testing/scheduling.ts";
import { nodeDeclaredFeatures } from "./node-declared-features.ts";

const restart = "RestartAllContainersOnContainerExits";
const users = "UserNamespacesHostNetworkSupport";
const plain = makeNode("a");
const declaring = (...declaredFeatures: string[]) => makeNode("a", { status: { declaredFeatures } });
const exitCodes = { operator: "In" as const, values: [42] };
const restarting = {
  name: "c",
  image: "i",
  restartPolicy: "Never" as const,
  restartPolicyRules: [{ action: "RestartAllContainers" as const, exitCodes }],
};
const refusal = { reasons: ["node(s) didn't match Pod's required features"], isFinal: true };

const cases = [
  { name: "accepts any node for a usual pod", node: plain, spec: {}, verdict: undefined },
  {
    name: "refuses a node that cannot restart all containers",
    node: declaring(users),
    spec: { containers: [restarting] },
    verdict: refusal,
  },
  {
    name: "looks at init containers too",
    node: plain,
    spec: { initContainers: [restarting] },
    verdict: refusal,
  },
  {
    name: "accepts a node that declares it",
    node: declaring(restart, users),
    spec: { containers: [restarting] },
    verdict: undefined,
  },
  {
    name: "does not care about rules that restart one container",
    node: plain,
    spec: { containers: [{ ...restarting, restartPolicyRules: [{ action: "Restart" as const, exitCodes }] }] },
    verdict: undefined,
  },
  {
    name: "refuses a node without user namespaces in the network of the host",
    node: declaring(restart),
    spec: { hostNetwork: true, hostUsers: false },
    verdict: refusal,
  },
  { name: "needs both for that", node: plain, spec: { hostUsers: false }, verdict: undefined },
];
for (const { name, node, spec, verdict } of cases) {
  test(`NodeDeclaredFeatures ${name}`, () => {
    assert.deepEqual(judge(nodeDeclaredFeatures, makePod("p", spec), snapshotOf([node]), "a"), verdict);
  });
}

test("NodeDeclaredFeatures waits for a node with other features", () => {
  const helps = (change: "created" | "updated" | "deleted", object: typeof plain, previous?: typeof plain) =>
    nodeDeclaredFeatures.retryOn?.node?.(makePod("p"), { kind: "Node", change, object, previous, info: undefined });

  assert.equal(helps("created", plain), true);
  assert.equal(helps("updated", declaring(restart), plain), true);
  assert.equal(helps("updated", declaring(restart), declaring(restart)), false);
  assert.equal(helps("deleted", plain), false);
});
