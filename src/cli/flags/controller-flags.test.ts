import assert from "node:assert/strict";
import { test } from "node:test";
import { type ControllerValues, controllerFlags, controllerSettings } from "./controller-flags.ts";

const { "leader-elect": _, ...withDefaults } = controllerFlags;
const usual = Object.fromEntries(
  Object.entries(withDefaults).map(([flag, settings]) => [flag, settings.default]),
) as unknown as ControllerValues;

test("the flags of controllers are read", () => {
  const settings = controllerSettings({ ...usual, controllers: "*, -job", "leader-elect": "true" });

  assert.deepEqual(settings.choice, ["*", "-job"]);
  assert.equal(settings.signingDurationMs, 365 * 86_400_000);
  assert.equal(settings.nodeLifecycle?.graceMs, 50_000);
  assert.equal(settings.nodeLifecycle.unhealthyZoneThreshold, 0.55);
  assert.deepEqual(settings.election, {
    enabled: true,
    leaseDurationMs: 15_000,
    renewDeadlineMs: 10_000,
    retryPeriodMs: 2_000,
  });
});

const bad: readonly [Partial<Parameters<typeof controllerSettings>[0]>, RegExp][] = [
  [{ "cluster-signing-duration": "5m" }, /--cluster-signing-duration must be at least 10m, not 5m/],
  [{ "node-eviction-rate": "-1" }, /--node-eviction-rate must be a number from 0 to 1000, not "-1"/],
  [{ "unhealthy-zone-threshold": "x" }, /--unhealthy-zone-threshold must be a number from 0 to 1, not "x"/],
  [{ "large-cluster-size-threshold": "1.5" }, /--large-cluster-size-threshold must be a whole number/],
  [{ "leader-elect": "maybe" }, /--leader-elect must be true or false/],
  [{ "leader-elect-lease-duration": "10s" }, /lease-duration must be greater than --leader-elect-renew-deadline/],
  [{ "leader-elect-lease-duration": "1ms" }, /--leader-elect-lease-duration must be at least 1s/],
  [{ "leader-elect-retry-period": "9s" }, /--leader-elect-renew-deadline must be greater than 1.2 times/],
  [{ "leader-elect-retry-period": "0s" }, /--leader-elect-retry-period must be greater than 0/],
];
for (const [values, why] of bad) {
  test(`flags for controllers are refused: ${why.source}`, () => {
    assert.throws(
      () => controllerSettings({ ...usual, ...values }),
      (error: Error) => error.name === "UserError" && why.test(error.message),
    );
  });
}
