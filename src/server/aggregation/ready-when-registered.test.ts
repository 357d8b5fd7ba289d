import assert from "node:assert/strict";
import { test } from "node:test";
import { nextTurn } from "#lib/async/turns.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { type Health } from "../discovery/health.ts";
import { readyWhenRegistered } from "./ready-when-registered.ts";

function setUp() {
  const clock = createVirtualClock();
  const checks: (() => string | undefined)[] = [];
  const addReady = ({ check }: { check(): string | undefined }) => void checks.push(check);
  const health = { addReady } as Partial<Health> as Health;
  const registration = readyWhenRegistered(health, clock);
  const ended = new AbortController();
  const begun: string[] = [];
  const running = registration.later(async () => void begun.push("scheduler"))(ended.signal);
  return { clock, registration, begun, running, ended, fault: () => checks[0]?.() };
}

test("the server is ready, and a component begins, when the API services are registered", async () => {
  const { registration, begun, running, fault } = setUp();
  await nextTurn();
  assert.deepEqual([fault(), begun], ["missing APIService", []]);

  registration.registered();
  await running;

  assert.deepEqual([fault(), begun], [undefined, ["scheduler"]]);
});

test("a component begins after a while although the API services cannot be registered", async () => {
  const { clock, begun, running, fault } = setUp();

  await clock.advance(2000);
  await running;

  assert.deepEqual([fault(), begun], ["missing APIService", ["scheduler"]]);
});

test("a component does not begin if everything ends before", async () => {
  const { begun, running, ended } = setUp();

  ended.abort();
  await running;

  assert.deepEqual(begun, []);
});
