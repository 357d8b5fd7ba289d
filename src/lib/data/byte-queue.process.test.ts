import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ByteQueue } from "./byte-queue.ts";

test("ByteQueue returns the bytes that were put in, however they are split", () => {
  const arrivals = fc.array(fc.uint8Array({ maxLength: 3000 }), { maxLength: 30 });
  const takes = fc.array(fc.nat(5000), { maxLength: 60 });
  fc.assert(
    fc.property(arrivals, takes, (pushed, wanted) => {
      const queue = new ByteQueue();
      const taken: Buffer[] = [];
      const sizes = wanted.values();
      for (const chunk of pushed) {
        queue.push(chunk);
        for (const next of sizes) {
          const count = Math.min(next, queue.size);
          const seen = Buffer.from(queue.peek(count));
          taken.push(queue.take(count));
          assert(seen.equals(taken.at(-1) ?? Buffer.alloc(0)));
          if (next % 2 === 0) break;
        }
      }
      taken.push(queue.take(queue.size));

      assert(Buffer.concat(taken).equals(Buffer.concat(pushed)));
    }),
  );
});

test("ByteQueue stores single bytes in little more than their size", () => {
  const queue = new ByteQueue();
  const before = process.memoryUsage();

  for (let n = 0; n < 1_000_000; n++) queue.push(Buffer.of(n & 255));

  const after = process.memoryUsage();
  const held = after.arrayBuffers - before.arrayBuffers;
  assert(queue.size === 1_000_000 && held < 8_000_000, `${held} bytes are held`);
});
