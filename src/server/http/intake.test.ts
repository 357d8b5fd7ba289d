import assert from "node:assert/strict";
import { test } from "node:test";
import { Intake, type Rank } from "./intake.ts";

/** An intake whose turns end when the test says so, and where every request takes a millisecond. */
function setUp() {
  const ends: (() => void)[] = [];
  const started: string[] = [];
  let now = 0;
  const intake = new Intake(() => now, {
    afterTurn: (callback) => void ends.push(callback),
    afterPromises: (callback) => callback(),
  });
  const take = (rank: Rank, owner: string, laterMs = 0): void =>
    intake.take({
      rank,
      owner,
      laterMs,
      start() {
        started.push(owner);
        now++;
      },
    });
  const endTurn = (): string[] => {
    started.length = 0;
    for (const end of ends.splice(0)) end();
    return [...started];
  };
  return { take, started, endTurn };
}

test("a few requests start at once, in the order in which they arrive", () => {
  const { take, started, endTurn } = setUp();
  take("stranger", "a");
  take("user", "b");
  take("component", "c");
  assert.deepEqual(started, ["a", "b", "c"]);
  assert.deepEqual(endTurn(), []);
});

test("a flood of strangers takes a part of each turn, and the others go before it", () => {
  const { take, started, endTurn } = setUp();
  for (let n = 0; n < 1000; n++) take("stranger", "flood");
  assert.equal(started.length, 2);
  take("component", "node");
  assert.equal(started.at(-1), "node");
  take("user", "user");
  take("user", "user");
  take("component", "node");
  assert.deepEqual(started.slice(2), ["node", "user", "node"]);
  assert.deepEqual(endTurn(), ["user", "flood"]);
});

test("whoever waits gets something in every turn", () => {
  const { take, endTurn } = setUp();
  const fill = () => {
    for (let n = 0; n < 100; n++) {
      take("component", "node");
      take("user", "user");
      take("stranger", "stranger");
    }
  };
  fill();
  for (let turn = 0; turn < 3; turn++) {
    const seen = endTurn();
    assert.deepEqual([...new Set(seen)], ["node", "user", "stranger"]);
    assert.ok(seen.length < 10, `${seen.length} started in one turn`);
    fill();
  }
});

test("those who wait take turns by owner, however much one of them has", () => {
  const { take, endTurn } = setUp();
  for (let n = 0; n < 100; n++) take("user", "hog");
  take("user", "other");
  assert.deepEqual(endTurn(), ["hog", "other", "hog", "hog"]);
});

test("what will take time later counts in the turn that starts it", () => {
  const { take, started, endTurn } = setUp();
  for (let n = 0; n < 10; n++) take("stranger", "knocks", 5);
  assert.equal(started.length, 1);
  assert.equal(endTurn().length, 1);
});
