import assert from "node:assert/strict";
import { test } from "node:test";
import { controllerFlags, controllerSettings } from "./controller-flags.ts";

const usual = {
  controllers: controllerFlags.controllers.default,
  "cluster-signing-duration": controllerFlags["cluster-signing-duration"].default,
  "legacy-service-account-token-clean-up-period":
    controllerFlags["legacy-service-account-token-clean-up-period"].default,
  "leader-elect-lease-duration": controllerFlags["leader-elect-lease-duration"].default,
  "leader-elect-renew-deadline": controllerFlags["leader-elect-renew-deadline"].default,
  "leader-elect-retry-period": controllerFlags["leader-elect-retry-period"].default,
};

test("the flags of controllers are read", () => {
  const settings = controllerSettings({ ...usual, controllers: "*, -job", "leader-elect": "true" });

  assert.deepEqual(settings.choice, ["*", "-job"]);
  assert.equal(settings.signingDurationMs, 365 * 86_400_000);
  assert.deepEqual(settings.election, {
    enabled: true,
    leaseDurationMs: 15_000,
    renewDeadlineMs: 10_000,
    retryPeriodMs: 2_000,
  });
});

const bad: readonly [Partial<Parameters<typeof controllerSettings>[0]>, RegExp][] = [
  [{ "cluster-signing-duration": "5m" }, /--cluster-signing-duration must be at least 10m, not 5m/],
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
