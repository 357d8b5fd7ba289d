import assert from "node:assert/strict";
import { test } from "node:test";
import { Node } from "#api/core/node.ts";
import { build } from "#testing/build.ts";
import { JoinError } from "./cluster-info.ts";
import { refuseSecondNode } from "./own-machine.ts";

const node = (name: string, address: string, ready = "True"): Node =>
  build(Node, {
    metadata: { name },
    status: { addresses: [{ type: "InternalIP", address }], conditions: [{ type: "Ready", status: ready }] },
  });
const own = { nodeName: "own", addresses: ["127.0.0.1", "::1", "10.0.0.5", "10.245.0.1"] };

test("refuseSecondNode() names the node that this machine is already", () => {
  assert.throws(
    () => refuseSecondNode(own, [node("far", "10.0.0.9"), node("first", "10.245.0.1")]),
    (error) =>
      error instanceof JoinError && /is the node first of the cluster already.*10\.245\.0\.1/.test(error.message),
  );
});

test("refuseSecondNode() accepts other machines, itself, a node that is gone, and addresses that every machine has", () => {
  const others = [node("far", "10.0.0.9"), node("own", "10.0.0.5"), node("old", "10.0.0.5", "Unknown")];
  assert.doesNotThrow(() => refuseSecondNode(own, [...others, node("odd", "127.0.0.1")]));
});
