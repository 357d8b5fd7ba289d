import assert from "node:assert/strict";
import { test } from "node:test";
import { mandatoryLevels, suggestedFlows } from "../bootstrap/bootstrap-flows.ts";
import { allocateSeats } from "./allocate-seats.ts";
import { type Bounds, planBounds, planLimits } from "./plan-limits.ts";

const idle = { average: 0, deviation: 0, highest: 0, smoothed: 0 };
const busy = (seats: number) => ({ average: seats, deviation: 0, highest: seats, smoothed: seats });

const limitedSpec = (shares: number, lendablePercent = 0, borrowingLimitPercent?: number) => ({
  type: "Limited",
  limited: {
    nominalConcurrencyShares: shares,
    lendablePercent,
    limitResponse: { type: "Reject" },
    ...(borrowingLimitPercent === undefined ? {} : { borrowingLimitPercent }),
  },
});

test("planBounds() divides the seats by shares, rounded up", () => {
  const bounds = planBounds(
    100,
    new Map([
      ["a", limitedSpec(1, 50)],
      ["b", limitedSpec(2, 0, 25)],
    ]),
  );

  assert.deepEqual(bounds.get("a"), { nominal: 34, lower: 17, upper: 134, maxSeats: 0 });
  assert.deepEqual(bounds.get("b"), { nominal: 67, lower: 67, upper: 84, maxSeats: 0 });
});

test("a server with 600 seats has upstream's limits", () => {
  const levels = [...mandatoryLevels, ...suggestedFlows().levels];
  const specs = new Map(levels.map(({ metadata, spec }) => [metadata?.name ?? "", spec as never]));

  const bounds = planBounds(600, specs);

  const shown = Object.fromEntries(
    [...bounds].map(([name, { nominal, lower, maxSeats }]) => [name, [nominal, lower, maxSeats]]),
  );
  assert.deepEqual(shown, {
    exempt: [0, 0, 0],
    "catch-all": [13, 13, 0],
    system: [74, 50, 12],
    "node-high": [98, 73, 15],
    "leader-election": [25, 25, 4],
    "workload-high": [98, 49, 15],
    "workload-low": [245, 24, 37],
    "global-default": [49, 24, 8],
  });
});

const level = (nominal: number, lower: number, demand = idle, isExempt = false) => ({
  isExempt,
  bounds: { nominal, lower, upper: nominal + 1000, maxSeats: 0 } satisfies Bounds,
  demand,
});

const cases = [
  {
    name: "leaves everybody its own if all are busy",
    levels: { a: level(10, 5, busy(50)), b: level(30, 0, busy(50)) },
    seats: { a: 10, b: 30 },
  },
  {
    name: "lends what an idle level may lend",
    levels: { a: level(10, 5, busy(50)), b: level(30, 10, idle) },
    seats: { a: 30, b: 10 },
  },
  {
    name: "gives a level back what it lent as soon as it needs it",
    levels: { a: level(10, 5, busy(50)), b: level(30, 10, busy(25)) },
    seats: { a: 15, b: 25 },
  },
  {
    name: "never limits an exempt level, whose use is missing for the others",
    levels: { admin: level(0, 0, busy(25), true), a: level(10, 5, busy(10)), b: level(30, 10, busy(30)) },
    seats: { admin: 25, a: 5, b: 10 },
  },
  {
    name: "divides what is left above the minimum if an exempt level uses much",
    levels: { admin: level(0, 0, busy(15), true), a: level(10, 5, busy(10)), b: level(30, 10, busy(30)) },
    seats: { admin: 15, a: 7, b: 18 },
  },
];
for (const { name, levels, seats } of cases) {
  test(`planLimits() ${name}`, () => {
    const plan = planLimits(new Map(Object.entries(levels)));

    assert.deepEqual(Object.fromEntries(plan?.seats ?? []), seats);
  });
}

test("allocateSeats() gives all the same fraction of their targets, within their bounds", () => {
  const claims = [
    { target: 10, least: 0, most: 100 },
    { target: 20, least: 0, most: 100 },
    { target: 10, least: 9, most: 100 },
    { target: 40, least: 0, most: 12 },
  ];

  const allocation = allocateSeats(36, claims);

  assert.deepEqual(
    allocation?.seats.map((seats) => Math.round(seats * 100) / 100),
    [5, 10, 9, 12],
  );
  assert.equal(allocation?.fairFraction, 0.5);
});

test("allocateSeats() says if the bounds do not allow the sum", () => {
  assert.equal(allocateSeats(5, [{ target: 6, least: 6, most: 10 }]), undefined);
  assert.equal(allocateSeats(11, [{ target: 6, least: 6, most: 10 }]), undefined);
  assert.deepEqual(allocateSeats(6, [{ target: 6, least: 6, most: 10 }])?.seats, [6]);
  assert.deepEqual(allocateSeats(10, [{ target: 6, least: 6, most: 10 }])?.seats, [10]);
});
