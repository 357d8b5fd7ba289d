import assert from "node:assert/strict";
import { test } from "node:test";
import { tierOf, toTier } from "./tiers.ts";

test("tierOf() reads the suffix, and a file without one is a unit test", () => {
  assert.equal(tierOf("src/lib/async/clock.test.ts"), "unit");
  assert.equal(tierOf("src/lib/tar.process.test.ts"), "process");
  assert.equal(tierOf("test/kill.cluster.test.ts"), "cluster");
  assert.equal(tierOf("src/proxy/proxy.machine.test.ts"), "machine");
});

test("an unknown tier is refused", () => {
  assert.throws(() => tierOf("src/kubelet/kubelet.real.test.ts"), /unknown tier real: choose one of unit, process/);
  assert.throws(() => tierOf("src/lib/clock.unit.test.ts"), /a unit test has no suffix/);
  assert.throws(() => toTier("all"), /unknown tier all/);
});
