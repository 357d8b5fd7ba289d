import assert from "node:assert/strict";
import { test } from "node:test";
import { type Device } from "#api/devices/device.ts";
import { Budget } from "./search/budget.ts";
import { type PoolDevice } from "./search/pool.ts";
import { type Alternative, type WantedClaim } from "./search/wanted.ts";
import { SelectorResults } from "./selector-results.ts";

const device: Device = { name: "a", attributes: { text: { string: "x".repeat(60) } } };
const one = { device, driver: "d.example.com", key: "d.example.com/p/a" } as PoolDevice;
const wayOf = (...expressions: string[]): Alternative =>
  ({ selectors: expressions.map((expression) => ({ expression, origin: "request r" })) }) as unknown as Alternative;
const claimOf = (way: Alternative) => ({ requests: [{ alternatives: [way] }] }) as unknown as WantedClaim;
const ten = "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]";

test("SelectorResults asks a selector about each device once", () => {
  const selectors = new SelectorResults();
  const way = wayOf('device.driver == "d.example.com"');
  assert(selectors.matches(one, way, new Budget(1_000)));

  const budget = new Budget(0);
  assert(selectors.matches(one, way, budget));
  assert.equal(budget.left, 0);
});

test("SelectorResults stops a selector that takes too long, even if it costs little", async () => {
  const selectors = new SelectorResults();
  const text = 'device.attributes["d.example.com"].text.matches("^(x+x+)+y?$")';
  const way = wayOf(`${ten}.all(a, ${ten}.all(b, ${ten}.all(c, ${text})))`);
  await selectors.compile([claimOf(way)]);

  const few = () => selectors.matches(one, way, new Budget(2_000));
  assert.throws(few, /timed out trying to allocate devices/);
  // It was not found out what the selector says, so nothing is remembered.
  assert.throws(few, /timed out trying to allocate devices/);
});

test("SelectorResults counts the length of what it compiles, unless that was done before the search", async () => {
  const selectors = new SelectorResults();
  const way = wayOf(`true ${"|| true ".repeat(1_000)}`);
  assert.throws(() => selectors.matches(one, way, new Budget(2_000)), /timed out trying to allocate devices/);

  await selectors.compile([claimOf(way)]);
  assert(selectors.matches(one, way, new Budget(2_000)));
});
