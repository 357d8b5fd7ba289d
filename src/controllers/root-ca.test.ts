import assert from "node:assert/strict";
import { test } from "node:test";
import { planRootCa } from "./root-ca.ts";

test("planRootCa() makes what is missing and leaves alone what is right", () => {
  const first = planRootCa(undefined, "CERT");
  assert(first);

  assert.deepEqual(first.data, { "ca.crt": "CERT" });
  assert.match(first.metadata?.annotations?.["kubernetes.io/description"] ?? "", /CA bundle/);
  assert.equal(planRootCa(first, "CERT"), undefined);
});

test("planRootCa() repairs what was changed and keeps annotations of others", () => {
  const damaged = { metadata: { annotations: { mine: "kept" } }, data: { "ca.crt": "OLD", extra: "x" } };

  const repaired = planRootCa(damaged, "CERT");

  assert.deepEqual(repaired?.data, { "ca.crt": "CERT" });
  assert.equal(repaired?.metadata?.annotations?.mine, "kept");
});
