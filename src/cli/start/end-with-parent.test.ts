import assert from "node:assert/strict";
import { test } from "node:test";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { orParentEnded } from "./end-with-parent.ts";

function setUp(env: Readonly<Record<string, string>>) {
  const clock = createVirtualClock();
  const told = new AbortController();
  const state = { parent: 7 };
  const signal = orParentEnded(told.signal, { clock, env, parentId: () => state.parent });
  return { clock, told, state, signal };
}
const npx = { npm_lifecycle_event: "npx" };

test("a server that npx started ends when npx has ended", async () => {
  const { clock, state, signal } = setUp(npx);
  await clock.advance(10_000);
  assert(!signal.aborted);

  state.parent = 1;
  await clock.advance(1000);

  assert.match(String(signal.reason), /npx has ended/);
});

test("it still ends when it is told to", () => {
  const { told, signal } = setUp(npx);

  told.abort();

  assert(signal.aborted);
});

test("a server that was started otherwise outlives its parent", async () => {
  const { clock, state, signal } = setUp({});

  state.parent = 1;
  await clock.advance(10_000);

  assert(!signal.aborted);
});
