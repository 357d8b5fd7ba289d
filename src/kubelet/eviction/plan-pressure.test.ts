import assert from "node:assert/strict";
import { test } from "node:test";
import { noPressureState, type PressureState, planPressure } from "./plan-pressure.ts";
import type { Signal } from "./signals.ts";
import { createThresholds } from "./thresholds.ts";

const settings = {
  thresholds: createThresholds({
    hard: { "nodefs.available": "10", "memory.available": "100" },
    soft: { "memory.available": "200" },
    softGraceMs: { "memory.available": 60_000 },
    minimumReclaim: { "nodefs.available": "5" },
    limitsPods: false,
  }),
  transitionMs: 300_000,
};

type Look = readonly [seconds: number, left: Partial<Record<Signal, number>>];

/** Looks at the node at several times, and shows what was decided. */
function look(...looks: readonly Look[]) {
  let state: PressureState = noPressureState;
  return looks.map(([seconds, left]) => {
    const observations = new Map(
      Object.entries(left).map(([signal, available]) => [signal as Signal, { available, capacity: 1000 }]),
    );
    const plan = planPressure({ settings, state, observations, now: seconds * 1000 });
    state = plan.state;
    const starved = plan.starved.map(({ signal, graceMs }) => `${graceMs > 0 ? "soft " : ""}${signal}`);
    return [plan.conditions.join(), starved.join()];
  });
}

const cases: readonly [name: string, looks: readonly Look[], decided: readonly (readonly string[])[]][] = [
  ["nothing while there is enough", [[0, { "memory.available": 200, "nodefs.available": 10 }]], [["", ""]]],
  ["eviction at once for a hard threshold", [[0, { "nodefs.available": 9 }]], [["DiskPressure", "nodefs.available"]]],
  [
    "a condition first, and eviction after the grace period of a soft threshold",
    [
      [0, { "memory.available": 150 }],
      [59, { "memory.available": 150 }],
      [60, { "memory.available": 150 }],
    ],
    [
      ["MemoryPressure", ""],
      ["MemoryPressure", ""],
      ["MemoryPressure", "soft memory.available"],
    ],
  ],
  [
    "a grace period that begins again after there was enough",
    [
      [0, { "memory.available": 150 }],
      [50, { "memory.available": 250 }],
      [70, { "memory.available": 150 }],
      [120, { "memory.available": 150 }],
    ],
    [
      ["MemoryPressure", ""],
      ["MemoryPressure", ""],
      ["MemoryPressure", ""],
      ["MemoryPressure", ""],
    ],
  ],
  [
    "eviction until the minimum is reclaimed",
    [
      [0, { "nodefs.available": 9 }],
      [10, { "nodefs.available": 14 }],
      [20, { "nodefs.available": 15 }],
      [30, { "nodefs.available": 14 }],
    ],
    [
      ["DiskPressure", "nodefs.available"],
      ["DiskPressure", "nodefs.available"],
      ["DiskPressure", ""],
      ["DiskPressure", ""],
    ],
  ],
  [
    "a condition that stays for the transition period",
    [
      [0, { "nodefs.available": 1 }],
      [299, { "nodefs.available": 99 }],
      [300, { "nodefs.available": 99 }],
    ],
    [
      ["DiskPressure", "nodefs.available"],
      ["DiskPressure", ""],
      ["", ""],
    ],
  ],
  [
    "memory before everything else",
    [[0, { "nodefs.available": 1, "memory.available": 1 }]],
    [["MemoryPressure,DiskPressure", "memory.available,nodefs.available"]],
  ],
  ["nothing about what cannot be measured", [[0, {}]], [["", ""]]],
];
for (const [name, looks, decided] of cases) {
  test(`planPressure() decides on ${name}`, () => assert.deepEqual(look(...looks), decided));
}
