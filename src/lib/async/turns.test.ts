import assert from "node:assert/strict";
import { test } from "node:test";
import {
  atOnce,
  inSlices,
  inTurns,
  nextTurn,
  nodeLoop,
  OneByOne,
  Slice,
  type Steps,
  soonOrInSlices,
  undividedSlices,
} from "./turns.ts";

test("steps run at once, or with a pause after each", async () => {
  const seen: string[] = [];
  function* count(): Steps<number> {
    seen.push("one");
    yield;
    seen.push("two");
    yield;
    return 2;
  }

  assert.equal(atOnce(count()), 2);
  assert.equal(await inTurns(count(), async () => void seen.push("pause")), 2);

  assert.deepEqual(seen, ["one", "two", "one", "pause", "two", "pause"]);
});

for (const [name, run] of Object.entries({ inSlices, soonOrInSlices })) {
  test(`${name}() lets other work run while there are steps left, and returns their result`, async () => {
    let isOver = false;
    let others = 0;
    const count = (): void => {
      others++;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    const patienceMs = 10_000;
    const work = function* (): Steps<string> {
      const until = performance.now() + patienceMs;
      while (others === 0 && performance.now() < until) yield;
      return "done";
    };
    assert.equal(await run(work()), "done");
    isOver = true;
    assert(others > 0);
  });
}

test("soonOrInSlices() returns at once what takes no time", () => {
  const work = function* (): Steps<string> {
    yield;
    return "done";
  };
  assert.equal(soonOrInSlices(work()), "done");
});

test("undivided slices last until their work is done, until the last simulation ends", () => {
  function* slow(): Steps<string> {
    for (let step = 0; step < 3; step++) {
      const until = performance.now() + 5;
      while (performance.now() < until);
      yield;
    }
    return "done";
  }
  const divide = [undividedSlices(), undividedSlices()];

  assert.equal(soonOrInSlices(slow()), "done");
  const slice = new Slice();
  atOnce(slow());
  assert.equal(slice.isOver, false);

  divide[0]?.();
  divide[0]?.();
  assert.equal(soonOrInSlices(slow()), "done");
  divide[1]?.();
  assert.ok(soonOrInSlices(slow()) instanceof Promise);
});

/** Starts three works, each when the one before it has run as far as it can. */
async function startThree(): Promise<string> {
  const seen: string[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const work = async (n: number): Promise<void> => {
    seen.push(`start ${n}`);
    for (let step = 0; step < 3; step++) await Promise.resolve();
    seen.push(`end ${n}`);
  };
  const next = (n: number): void => {
    if (n > 3) return resolve();
    void work(n);
    nodeLoop.afterPromises(() => next(n + 1));
  };
  nodeLoop.afterTurn(() => next(1));
  await promise;
  return seen.join(", ");
}

test("what runs after promises runs after all of them, also when a turn has just begun", async () => {
  assert.equal(await startThree(), "start 1, end 1, start 2, end 2, start 3, end 3");
});

test("OneByOne lets one caller go on in each turn, in order", async () => {
  const steps = new OneByOne();
  const seen: string[] = [];
  const run = async (name: string): Promise<void> => {
    for (let step = 1; step <= 2; step++) {
      await steps.turn();
      seen.push(`${name}${step}`);
    }
  };
  const turns: number[] = [];
  const all = Promise.all(["a", "b", "c"].map(run));
  while (seen.length < 6) {
    await nextTurn();
    turns.push(seen.length);
  }
  await all;
  assert.deepEqual(seen, ["a1", "b1", "c1", "a2", "b2", "c2"]);
  for (const [index, count] of turns.entries()) assert.ok(count - (turns[index - 1] ?? 0) <= 1);
});
