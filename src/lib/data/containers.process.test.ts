import assert from "node:assert/strict";
import { test } from "node:test";
import { Backoff } from "#lib/async/backoff.ts";
import { Channel } from "#lib/async/channel.ts";
import { cloneJson } from "#lib/text/json.ts";
import { heldBufferBytes } from "#testing/held-buffers.ts";
import { Heap } from "./heap.ts";
import { LruMap } from "./lru-map.ts";
import { randomHex, seededRandom } from "./random.ts";

test("Heap returns the smallest item first", () => {
  const random = seededRandom(3);
  const numbers = Array.from({ length: 200 }, () => Math.floor(random() * 50));
  const heap = new Heap<number>((a, b) => a < b);

  for (const number of numbers) heap.push(number);
  const popped = Array.from({ length: 200 }, () => heap.pop());

  assert.deepEqual(
    popped,
    numbers.toSorted((a, b) => a - b),
  );
  assert.equal(heap.pop(), undefined);
});

test("Channel keeps order, refuses items beyond its limit, and hands out its items before its error", async () => {
  const channel = new Channel<number>(2);
  const accepted = [1, 2, 3].map((item) => channel.push(item));
  channel.close(new Error("end"));

  const taken: number[] = [];
  const iterate = async () => {
    for await (const item of channel) taken.push(item);
  };

  await assert.rejects(iterate, /end/);
  assert.deepEqual(
    [accepted, taken],
    [
      [true, true, false],
      [1, 2],
    ],
  );
});

test("Channel carries thousands of items between a fast producer and its consumer", async () => {
  const channel = new Channel<number>();
  let sum = 0;
  const consumed = (async () => {
    for await (const item of channel) sum += item;
  })();

  for (let item = 1; item <= 5000; item++) {
    channel.push(item);
    if (item % 500 === 0) await Promise.resolve();
  }
  channel.close();
  await consumed;

  assert.equal(sum, 12_502_500);
});

test("LruMap drops the least recently used entry", () => {
  const map = new LruMap<string, number>(2);
  map.set("a", 1);
  map.set("b", 2);
  map.get("a");

  map.set("c", 3);

  assert.deepEqual([map.get("a"), map.get("b"), map.get("c")], [1, undefined, 3]);
});

test("Backoff doubles up to its limit and starts over", () => {
  const backoff = new Backoff({ baseMs: 100, maxMs: 500 });

  const delays = Array.from({ length: 4 }, () => backoff.nextMs());
  backoff.reset();

  assert.deepEqual(delays, [100, 200, 400, 500]);
  assert.equal(backoff.nextMs(), 100);
});

test("seededRandom() repeats its sequence and randomHex() returns the requested length", () => {
  assert.equal(randomHex(seededRandom(1), 16), randomHex(seededRandom(1), 16));
  assert.match(randomHex(seededRandom(2), 5), /^[0-9a-f]{10}$/);
});

test("cloneJson() shares nothing, omits undefined, and copies unusual keys as keys", () => {
  const odd = JSON.parse('{"__proto__":{"x":1}}') as object;
  const value = { list: [{ a: 1 }], gone: undefined, nothing: null, odd };

  const copy = cloneJson(value);

  assert.deepEqual(Object.keys(copy), ["list", "nothing", "odd"]);
  assert.notEqual(copy.list[0], value.list[0]);
  assert.deepEqual(Object.keys(copy.odd), ["__proto__"]);
  assert.equal(Object.getPrototypeOf(copy.odd), Object.prototype);
});

test("Channel releases taken items while others are still waiting", async () => {
  const size = 100_000;
  const channel = new Channel<Uint8Array>();
  const before = heldBufferBytes();
  for (let n = 0; n < 500; n++) channel.push(Buffer.allocUnsafeSlow(size));

  const items = channel[Symbol.asyncIterator]();
  for (let n = 0; n < 490; n++) await items.next();

  const held = heldBufferBytes() - before;
  assert.equal(channel.size, 10);
  assert(held < 20 * size, `${held} bytes are held`);
});
