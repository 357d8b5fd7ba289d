import assert from "node:assert/strict";
import { test } from "node:test";
import { makePod } from "#testing/scheduling.ts";
import { type DefaultPreemptionArgs } from "../args/plugin-args.ts";
import { type CandidateLimits } from "../preemption/plan-preemption.ts";
import { type Outcome } from "../preemption/preemptor.ts";
import { defaultPreemption } from "./default-preemption.ts";

const outcome: Outcome = { message: "", nominate: "n1", victims: [], run: async () => {} };

/** The limits that the search for room gets, and what becomes of its outcome. */
async function ask(args: DefaultPreemptionArgs | undefined) {
  let limits: CandidateLimits | undefined;
  const makeRoom = async (given?: CandidateLimits) => {
    limits = given;
    return outcome;
  };
  const answer = await defaultPreemption(args).postFilter?.({ pod: makePod("web"), rejections: new Map(), makeRoom });
  return { limits, answer };
}

const argsOf = (minCandidateNodesPercentage: number, minCandidateNodesAbsolute: number): DefaultPreemptionArgs => ({
  minCandidateNodesPercentage,
  minCandidateNodesAbsolute,
});

const cases: readonly [what: string, args: DefaultPreemptionArgs | undefined, limits: CandidateLimits][] = [
  ["no arguments", undefined, { percentage: 10, atLeast: 100 }],
  ["a percentage", argsOf(50, 100), { percentage: 50, atLeast: 100 }],
  ["a number", argsOf(10, 1), { percentage: 10, atLeast: 1 }],
  ["no percentage", argsOf(0, 7), { percentage: 0, atLeast: 7 }],
];
for (const [what, args, limits] of cases) {
  test(`DefaultPreemption with ${what} looks at ${limits.percentage} % of the nodes, at least at ${limits.atLeast}`, async () => {
    assert.deepEqual((await ask(args)).limits, limits);
  });
}

test("DefaultPreemption says what follows, and nothing if the pod has gone meanwhile", async () => {
  assert.equal((await ask(undefined)).answer, outcome);
  const gone = await defaultPreemption().postFilter?.({
    pod: makePod("web"),
    rejections: new Map(),
    makeRoom: async () => undefined,
  });
  assert.equal(gone, undefined);
});
