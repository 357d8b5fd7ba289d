import assert from "node:assert/strict";
import { test } from "node:test";
import { formatLevel, isVersion, labelPrefix, modes, type Policy, privilegedPolicy, readPolicy } from "./levels.ts";

const labelled = (labels: Record<string, string>, defaults: Policy = privilegedPolicy) => {
  const prefixed = Object.fromEntries(Object.entries(labels).map(([name, value]) => [labelPrefix + name, value]));
  const { policy, faults } = readPolicy(prefixed, defaults);
  return {
    policy: modes.map((mode) => formatLevel(policy[mode])).join(" "),
    faults: faults.map(({ path, message }) => `${path}: ${message}`),
  };
};

const cases: readonly (readonly [labels: Record<string, string>, policy: string])[] = [
  [{}, "privileged:latest privileged:latest privileged:latest"],
  [{ enforce: "baseline" }, "baseline:latest privileged:latest baseline:latest"],
  [{ enforce: "baseline", "enforce-version": "v1.20" }, "baseline:v1.20 privileged:latest baseline:v1.20"],
  [{ enforce: "restricted", "warn-version": "v1.30" }, "restricted:latest privileged:latest restricted:v1.30"],
  [{ enforce: "restricted", warn: "privileged" }, "restricted:latest privileged:latest privileged:latest"],
  [{ enforce: "baseline", warn: "restricted" }, "baseline:latest privileged:latest restricted:latest"],
  [{ audit: "restricted", "audit-version": "v1.0" }, "privileged:latest restricted:v1.0 privileged:latest"],
  [{ enforce: "privileged" }, "privileged:latest privileged:latest privileged:latest"],
];
for (const [labels, policy] of cases) {
  test(`readPolicy() reads ${JSON.stringify(labels)}`, () => {
    assert.deepEqual(labelled(labels), { policy, faults: [] });
  });
}

test("readPolicy() takes what labels do not say from the defaults", () => {
  const strict = { level: "restricted", version: "v1.30" } as const;
  const defaults = { enforce: strict, audit: strict, warn: strict };
  assert.equal(labelled({}, defaults).policy, "restricted:v1.30 restricted:v1.30 restricted:v1.30");
  assert.equal(labelled({ enforce: "baseline" }, defaults).policy, "baseline:v1.30 restricted:v1.30 restricted:v1.30");
});

test("readPolicy() enforces most and reports least where a label cannot be read", () => {
  const { policy, faults } = labelled({
    enforce: "high",
    "enforce-version": "1.30",
    audit: "",
    "audit-version": "v1.01",
    warn: "Baseline",
    "warn-version": "v2.0",
  });
  assert.equal(policy, "restricted:latest privileged:latest privileged:latest");
  const path = "metadata.labels[pod-security.kubernetes.io/";
  const [level, version] = ["must be one of privileged, baseline, restricted", 'must be "latest" or "v1.x"'];
  assert.deepEqual(faults, [
    `${path}enforce]: Invalid value: "high": ${level}`,
    `${path}enforce-version]: Invalid value: "1.30": ${version}`,
    `${path}audit]: Invalid value: "": ${level}`,
    `${path}audit-version]: Invalid value: "v1.01": ${version}`,
    `${path}warn]: Invalid value: "Baseline": ${level}`,
    `${path}warn-version]: Invalid value: "v2.0": ${version}`,
  ]);
});

test("isVersion() accepts numbers that upstream can count to", () => {
  assert(isVersion("v1.0") && isVersion("v1.9223372036854775807"));
  assert(!isVersion("v1.9223372036854775808") && !isVersion("v1.") && !isVersion("v1.3\n"));
});
