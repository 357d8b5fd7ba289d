import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { Worker } from "node:worker_threads";
import type { Fuzzed, Fuzzing } from "./support/fuzz.ts";

const total = Number(process.env.ORLOP_FUZZ_REQUESTS ?? 100_000);
const seed = Number(process.env.ORLOP_FUZZ_SEED ?? 1);

test(`${total} damaged requests get a clear answer each, and leave nothing behind`, async () => {
  const workerData: Fuzzing = { total, seed };
  const worker = new Worker(new URL("./support/fuzz.ts", import.meta.url), { workerData });

  const [{ wrong, accepted, growth }] = (await once(worker, "message")) as [Fuzzed];

  assert.deepEqual(wrong.slice(0, 10), []);
  assert(accepted > total / 100, "some of it must have been good enough");
  assert(growth < 30 << 20, `the heap grew by ${Math.round(growth / 1024)} KiB`);
});
