import assert from "node:assert/strict";
import { test } from "node:test";
import { chaosSeeds } from "#testing/chaos/chaos.ts";
import { runOrdeal } from "./ordeal.suite.ts";

/** `SEEDS=500` for a long run, `SEED=17` for one. */
for (const seed of chaosSeeds(3)) {
  test(`two schedulers that crash break no rule and no budget without need (seed ${seed})`, async (context) => {
    const { faults, bound, preempted, kills } = await runOrdeal(seed, 60);

    assert.deepEqual(faults, []);
    assert.ok(bound > 5, "nothing was tested");
    context.diagnostic(`${bound} bound, ${preempted} preempted, ${kills} schedulers killed`);
  });

  test(`a scheduler that knows the whole cluster breaks no budget without need (seed ${seed})`, async () => {
    const { faults, preempted } = await runOrdeal(seed, 60, false);

    assert.deepEqual(faults, []);
    assert.ok(preempted > 0, "nothing was tested");
  });
}
