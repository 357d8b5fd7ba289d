import assert from "node:assert/strict";
import { test } from "node:test";
import { compareVersions } from "./compare-versions.ts";

test("compareVersions() orders as upstream does", () => {
  const ordered = ["foo10", "foo1", "bar", "v1alpha1", "v11alpha2", "v3beta1", "v12beta1", "v1", "v2", "v10"];

  assert.deepEqual(ordered.toReversed().sort(compareVersions), ordered);
});
