import assert from "node:assert/strict";
import { test } from "node:test";
import { type Job } from "#api/batch/job.ts";
import { type Pod } from "#api/core/pod.ts";
import { judgeFailure } from "./pod-failure-policy.ts";

const jobWith = (...rules: object[]): Pick<Job, "spec"> =>
  ({ spec: { podFailurePolicy: { rules } } }) as unknown as Pick<Job, "spec">;
const podWith = (conditions: object[]): Pod =>
  ({ metadata: { namespace: "shop", name: "a" }, status: { conditions } }) as unknown as Pod;

test("the first condition of a pod that matches a pattern is named", () => {
  const patterns = ["C", "B"].map((type) => ({ type, status: "True" }));
  const job = jobWith({ action: "Ignore", onPodConditions: patterns });
  const conditions = ["A", "B", "C"].map((type) => ({ type, status: "True" }));
  assert.deepEqual(judgeFailure(job, podWith(conditions)), {
    action: "Ignore",
    message: "Pod shop/a has condition B matching Ignore rule at index 0",
  });
  assert.equal(judgeFailure(job, podWith([{ type: "B", status: "False" }])), undefined);
});

test("the conditions of a pod are read once, however many patterns there are", () => {
  let reads = 0;
  const condition = (n: number) => ({
    status: "True",
    get type() {
      reads++;
      return `c${n}`;
    },
  });
  const pod = podWith(Array.from({ length: 100 }, (_, n) => condition(n)));
  const onPodConditions = Array.from({ length: 20 }, (_, n) => ({ type: `other${n}`, status: "True" }));
  const job = jobWith(...Array.from({ length: 20 }, () => ({ action: "Ignore", onPodConditions })));
  for (let round = 0; round < 3; round++) assert.equal(judgeFailure(job, pod), undefined);
  assert.equal(reads, 100);
});
