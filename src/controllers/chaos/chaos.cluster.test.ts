import assert from "node:assert/strict";
import { test } from "node:test";
import { chaosSeeds } from "#testing/chaos/chaos.ts";
import { runOrdeals } from "#testing/chaos/ordeal.ts";
import { controllerNames } from "../all.ts";
import { ordeals } from "./ordeals.suite.ts";

test("every controller has an ordeal", () => {
  const tried = new Set(ordeals.flatMap(({ controllers }) => controllers));

  assert.deepEqual([...controllerNames.difference(tried)], []);
  assert.deepEqual([...tried.difference(controllerNames)], []);
});

/** `SEEDS=200` runs more seeds, `SEED=17` one, and `ORDEAL=budget` only the ordeals with this word in their name. */
const { ORDEAL } = process.env;
const chosen = ordeals.filter(({ name }) => !ORDEAL || name.includes(ORDEAL));

for (const seed of chaosSeeds(2)) {
  test(`controllers pass their ordeals (seed ${seed})`, async (t) => {
    const failures = await runOrdeals(seed, chosen);

    for (const { name } of chosen) {
      await t.test(name, () => assert.ifError(failures.find((failure) => failure.name === name)?.error));
    }
  });
}
