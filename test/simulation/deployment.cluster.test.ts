import assert from "node:assert/strict";
import { test } from "node:test";
import { Worker } from "node:worker_threads";
import type { Outcome } from "./simulate.ts";

/**
 * `SEEDS=100 npm test test/simulation/deployment.cluster.test.ts` runs more seeds, and `SEED=17` only that one; `LOG=debug`
 * logs what happens in it.
 */
const { SEED, SEEDS = "25" } = process.env;
const seeds = SEED ? SEED.split(",").map(Number) : Array.from({ length: Number(SEEDS) }, (_, at) => at + 1);

const outcomes = new Map(seeds.map((seed) => [seed, Promise.withResolvers<string | undefined>()]));
const worker = new Worker(new URL("./simulate.ts", import.meta.url), { workerData: { seeds } });
worker.on("message", ({ seed, fault }: Outcome) => outcomes.get(seed)?.resolve(fault));
worker.on("error", (error) => {
  for (const { resolve } of outcomes.values()) resolve(String(error));
});

for (const [seed, { promise }] of outcomes) {
  test(`a deployment stays within its limits and converges (seed ${seed})`, async () => {
    const fault = await promise;

    assert.equal(fault, undefined);
  });
}
