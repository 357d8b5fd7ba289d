import assert from "node:assert/strict";
import { test } from "node:test";
import { churnPods } from "./support/pod-churn.ts";

test("nothing is left of pods deleted in their first second, even if Orlop is killed meanwhile", async () => {
  const report = await churnPods({ pods: 100, kills: 3, together: 4, seed: 1, limitMs: 60_000 });

  const { complaints, ...counts } = report;
  const left = Object.entries(counts).filter(([, count]) => count > 0);
  assert.deepEqual(left, [], complaints.join("\n"));
});
