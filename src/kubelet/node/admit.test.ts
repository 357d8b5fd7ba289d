import assert from "node:assert/strict";
import { test } from "node:test";
import { aPod } from "#api/core/pod/testing-pod.ts";
import { admitPod } from "./admit.ts";

const taking = (hostPort: number) => ({ ports: [{ containerPort: 80, hostPort }] });
const allocatable = { pods: "10" };

test("admitPod() refuses a host port that another pod uses", () => {
  const rejection = admitPod(aPod({}, taking(8000)), { allocatable, others: [aPod({}, taking(8000))] });

  assert.deepEqual(rejection, {
    reason: "NodePorts",
    message: "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports",
  });
});

test("admitPod() allows a port that only an init container of another pod used", () => {
  const other = aPod({ initContainers: [{ name: "step", image: "step:1", ...taking(8000) }] });

  assert.equal(admitPod(aPod({}, taking(8000)), { allocatable, others: [other] }), undefined);
});
