import assert from "node:assert/strict";
import { test } from "node:test";
import { planRootCa } from "./root-ca.ts";

test("planRootCa() creates a missing config map and does not change a correct one", () => {
  const first = planRootCa(undefined, "CERT");
  assert(first);

  assert.deepEqual(first.data, { "ca.crt": "CERT" });
  assert.match(first.metadata?.annotations?.["kubernetes.io/description"] ?? "", /CA bundle/);
  assert.equal(planRootCa(first, "CERT"), undefined);
});

test("planRootCa() repairs changed data and keeps other annotations", () => {
  const damaged = { metadata: { annotations: { mine: "kept" } }, data: { "ca.crt": "OLD", extra: "x" } };

  const repaired = planRootCa(damaged, "CERT");

  assert.deepEqual(repaired?.data, { "ca.crt": "CERT" });
  assert.equal(repaired?.metadata?.annotations?.mine, "kept");
});
