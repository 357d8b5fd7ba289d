import assert from "node:assert/strict";
import { test } from "node:test";
import { getHeapSpaceStatistics } from "node:v8";
import { collectGarbage, shrinkHeap } from "./collect-garbage.ts";

const nurseryBytes = (): number =>
  getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space")?.space_size ?? 0;

/** The young generation grows with the objects that survive in it. */
const makeObjects = (count: number): object[] => Array.from({ length: count }, (_, n) => ({ name: `object ${n}`, n }));

test("shrinkHeap() releases a young generation that a busy start has enlarged, if the heap is small", async () => {
  const objects = makeObjects(1_000_000);
  const large = nurseryBytes();
  await shrinkHeap();
  assert(nurseryBytes() > large / 2, "a full heap was shrunk");
  objects.length = 0;
  await collectGarbage();

  await shrinkHeap();

  const left = nurseryBytes();
  assert(large >= 4 << 20 && left <= large / 2, `${large} bytes before, ${left} after`);
});

test("collectGarbage() frees unreachable objects", async () => {
  const objects = makeObjects(500_000);
  const full = process.memoryUsage().heapUsed;
  objects.length = 0;

  await collectGarbage();

  const freed = full - process.memoryUsage().heapUsed;
  assert(freed > 500_000 * 30, `${freed} bytes were freed`);
});
