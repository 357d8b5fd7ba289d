import assert from "node:assert/strict";
import { test } from "node:test";
import { dealHand } from "./deal-hand.ts";

test("dealHand() gives every flow the same different queues each time", () => {
  for (let flow = 0; flow < 200; flow++) {
    const hand = dealHand(`flow-${flow}`, { queues: 16, handSize: 4 });

    assert.equal(new Set(hand).size, 4);
    assert(hand.every((queue) => Number.isInteger(queue) && queue >= 0 && queue < 16));
    assert.deepEqual(dealHand(`flow-${flow}`, { queues: 16, handSize: 4 }), hand);
  }
});

test("dealHand() uses all queues about equally", () => {
  const counts = new Array<number>(8).fill(0);
  for (let flow = 0; flow < 4000; flow++) {
    for (const queue of dealHand(String(flow), { queues: 8, handSize: 2 })) counts[queue] = (counts[queue] ?? 0) + 1;
  }

  for (const count of counts) assert(count > 850 && count < 1150, `a queue is in ${count} of 4000 hands`);
});

test("dealHand() deals all queues if the hand is as large as that", () => {
  assert.deepEqual(dealHand("all", { queues: 5, handSize: 5 }).sort(), [0, 1, 2, 3, 4]);
});
