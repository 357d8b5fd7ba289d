import assert from "node:assert/strict";
import { test } from "node:test";
import { nextSyncMs } from "./next-sync.ts";

const startMs = Date.parse("2026-01-01T08:00:00Z");

test("autoscalers of the same second act together, every 15 seconds, also if timers fire late", () => {
  const created = Array.from({ length: 100 }, (_, index) => startMs - 400 + index * 8);
  const moments = new Map<number, number>();
  for (const createdMs of created) {
    let dueMs = nextSyncMs(createdMs);
    assert(Math.abs(dueMs - createdMs - 15_000) <= 500);
    for (let round = 0; round < 10; round++, dueMs = nextSyncMs(dueMs + (createdMs % 40))) {
      moments.set(dueMs, (moments.get(dueMs) ?? 0) + 1);
    }
  }

  const expected = Array.from({ length: 10 }, (_, round) => [startMs + (round + 1) * 15_000, 100] as const);
  assert.deepEqual([...moments], expected);
});
