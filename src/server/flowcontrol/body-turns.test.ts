import assert from "node:assert/strict";
import { test } from "node:test";
import { Patience } from "#lib/async/patience.ts";
import { type Context } from "#server/request/pipeline.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { BodyTurns } from "./body-turns.ts";
import { receiveFairly } from "./share-fairly.ts";
import { WatchCounts } from "./watch-counts.ts";

function setUp() {
  const callbacks: (() => void)[] = [];
  const bodies = new BodyTurns({ afterTurn: (callback) => callbacks.push(callback) });
  const begun: string[] = [];
  const arrive = (name: string, kib: number): void => {
    const wait = bodies.wait(kib << 10);
    if (wait) void wait.then(() => begun.push(name));
    else begun.push(name);
  };
  const turn = async (): Promise<string> => {
    for (const callback of callbacks.splice(0)) callback();
    await Promise.resolve();
    return begun.splice(0).join(" ");
  };
  return { bodies, arrive, turn, begun, callbacks };
}

test("long bodies that arrive together begin in different turns, in order, and short ones at once", async () => {
  const { arrive, turn, begun, callbacks } = setUp();
  for (const name of ["a", "b", "c"]) arrive(name, 100);
  arrive("lease", 1);
  for (const name of ["d", "e"]) arrive(name, 40);
  assert.deepEqual(begun.splice(0), ["a", "lease"]);

  assert.deepEqual([await turn(), await turn(), await turn(), await turn()], ["b", "c", "d e", ""]);
  assert.equal(callbacks.length, 0, "the event loop is not kept busy");

  arrive("f", 100);
  arrive("g", 100);
  assert.deepEqual(begun.splice(0), ["f"]);
  assert.equal(await turn(), "g");
});

test("a request goes on when it is the turn of its body", async () => {
  const { bodies: bodyTurns, turn } = setUp();
  const clock = createVirtualClock();
  const gate = { admit: () => assert.fail("the seats are still there") };
  const deps = { gate, watches: new WatchCounts(), bodies: new Patience(clock, 100), bodyTurns };
  const seats = { finish: () => {} };
  const done: string[] = [];
  const receive = async (name: string): Promise<void> => {
    const context = { seats, request: { body: Buffer.alloc(100 << 10) } } as unknown as Context;
    await receiveFairly(deps, { context, received: Promise.resolve() });
    done.push(name);
  };

  const all = Promise.all(["a", "b"].map(receive));
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(done, ["a"]);
  await turn();
  await all;
  assert.deepEqual(done, ["a", "b"]);
});
