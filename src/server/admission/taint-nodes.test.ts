import assert from "node:assert/strict";
import { test } from "node:test";
import { Node } from "#api/core/node.ts";
import { type InputOf } from "#api/resource.ts";
import { requestFor, setUp } from "./admission.suite.ts";

test("a new node is tainted until it is ready", async () => {
  const { admit } = setUp();
  const node: InputOf<Node> = { metadata: { name: "a" }, spec: {} };
  await admit(requestFor(Node, node));

  assert.deepEqual(node.spec?.taints, [{ key: "node.kubernetes.io/not-ready", effect: "NoSchedule" }]);
});
