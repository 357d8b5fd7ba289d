import assert from "node:assert/strict";
import { test } from "node:test";
import { admitPod, podWith } from "../admission.suite.ts";

test("a pod's own tolerations are kept", async () => {
  assert.equal((await admitPod(podWith({ tolerations: [{ operator: "Exists" }] }))).tolerations?.length, 1);
  const own = { key: "node.kubernetes.io/not-ready", effect: "NoExecute" as const, operator: "Exists" };
  assert.equal((await admitPod(podWith({ tolerations: [own] }))).tolerations?.length, 2);
});
