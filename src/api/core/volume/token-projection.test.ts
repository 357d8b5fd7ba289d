import assert from "node:assert/strict";
import { test } from "node:test";
import { Pod } from "#api/core/pod.ts";
import { createFaults, warningsOf } from "#api/rules.ts";
import { build } from "#testing/build.ts";
import { tokenProjection } from "./token-projection.ts";

test("tokenProjection is sound also by the checks that it is spared", () => {
  const pod = build(Pod, {
    metadata: { name: "web", namespace: "default" },
    spec: {
      containers: [{ name: "web", image: "web" }],
      serviceAccountName: "default",
      volumes: [{ name: "token", projected: structuredClone(tokenProjection) }],
    },
  });
  assert.notEqual(pod.spec.volumes?.[0]?.projected, tokenProjection);
  assert.deepEqual(createFaults(Pod, pod), []);
  assert.deepEqual(warningsOf(Pod, pod, undefined), []);
});
