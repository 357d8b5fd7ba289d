import assert from "node:assert/strict";
import { test } from "node:test";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { outOfTime, withDeadline } from "./deadline.ts";
import { slowStart } from "./slow-start.ts";
import { aborted, neverAborted, orAborted, runTogether } from "./tasks.ts";
import { nextTurn } from "./turns.ts";

test("runTogether() stops all when one fails, and throws what it threw", async () => {
  const ended: string[] = [];
  const wait = async (signal: AbortSignal) => {
    await aborted(signal);
    ended.push("stopped");
  };

  const run = runTogether(neverAborted, [wait, () => Promise.reject(new Error("boom")), wait]);

  await assert.rejects(run, /boom/);
  assert.deepEqual(ended, ["stopped", "stopped"]);
});

test("runTogether() ends without an error when its signal fires, and when all tasks are done", async () => {
  const clock = createVirtualClock();
  const stop = new AbortController();
  const run = runTogether(stop.signal, [(signal) => clock.sleep(1000, signal), async () => {}]);

  const isRunning = await Promise.race([run.then(() => false), clock.settle().then(() => true)]);
  stop.abort();

  assert(isRunning);
  assert.equal(await run, undefined);
  assert.equal(await runTogether(neverAborted, [async () => {}]), undefined);
});

test("orAborted() and withDeadline() stop waiting at their signal or limit", async () => {
  const clock = createVirtualClock();
  const never = new Promise<never>(() => {});
  const deadline = { clock, signal: neverAborted };

  const late = withDeadline(100, deadline, () => never);
  await clock.advance(100);

  assert.equal(await late, outOfTime);
  assert.equal(await withDeadline(100, deadline, async () => "done"), "done");
  assert.equal(clock.pending, 0);
  await assert.rejects(orAborted(never, AbortSignal.abort(new Error("enough"))), /enough/);
});

test("slowStart() doubles its batches and stops after the first that fails", async () => {
  const calls: number[] = [];
  const together: number[] = [];
  const action = async (index: number) => {
    calls.push(index);
    await nextTurn();
    together.push(calls.length);
    if (index === 4) throw new Error("quota");
  };

  await assert.rejects(slowStart(100, action), /quota/);

  assert.deepEqual(calls, [0, 1, 2, 3, 4, 5, 6]);
  assert.deepEqual(together, [1, 3, 3, 7, 7, 7, 7]);
});
