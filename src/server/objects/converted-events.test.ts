import assert from "node:assert/strict";
import { test } from "node:test";
import { type StoreEvent } from "#store/store.ts";
import { ConvertedEvents, type EventConversion } from "./converted-events.ts";

const eventAt = (revision: number, isOld: boolean, bytes = 1): StoreEvent => ({
  key: isOld ? "old" : "new",
  value: new Uint8Array(bytes),
  revision,
  created: revision,
  previous: undefined,
});

/** What a watcher has received: revisions, or an error. */
function setUp(convert: EventConversion["convert"]) {
  const told: (number | string)[] = [];
  const watcher = {
    events: (events: readonly StoreEvent[]) => void told.push(...events.map(({ revision }) => revision)),
    failed: (error: Error) => void told.push(error.message),
  };
  return { told, passing: new ConvertedEvents({ needs: ({ key }) => key === "old", convert }, watcher) };
}

test("events keep their order, whenever a conversion ends between them", async () => {
  for (let steps = 0; steps < 20; steps++) {
    const { told, passing } = setUp(async (events) => events);
    const running = passing.push([eventAt(1, true)], 1);
    for (let step = 0; step < steps; step++) await undefined;

    void passing.push([eventAt(2, false)], 2);
    await running;
    void passing.push([eventAt(3, false)], 3);

    assert.deepEqual(told, [1, 2, 3], `after ${steps} steps`);
  }
});

test("what comes during a conversion is converted together", async () => {
  const calls: number[] = [];
  const { told, passing } = setUp(async (events) => {
    calls.push(events.length);
    return events;
  });

  const running = passing.push([eventAt(1, true)], 1);
  for (const revision of [2, 3, 4]) void passing.push([eventAt(revision, revision === 3)], revision);
  await running;

  assert.deepEqual(
    [calls, told],
    [
      [1, 3],
      [1, 2, 3, 4],
    ],
  );
});

test("a watcher fails once, and then hears nothing more", async () => {
  const { told, passing } = setUp(async () => {
    throw new Error("broken");
  });

  await passing.push([eventAt(1, true)], 1);
  void passing.push([eventAt(2, false)], 2);
  passing.fail(new Error("again"));

  assert.deepEqual(told, ["broken"]);
});

test("too much that waits is given up", async () => {
  const { promise, resolve } = Promise.withResolvers<readonly StoreEvent[]>();
  const { told, passing } = setUp(() => promise);
  const running = passing.push([eventAt(1, true)], 1);

  for (let revision = 2; revision < 6; revision++) void passing.push([eventAt(revision, true, 10 << 20)], revision);
  resolve([]);
  await running;

  assert.deepEqual(told, ["too many objects wait for their conversion"]);
});
