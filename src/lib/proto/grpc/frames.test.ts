import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { frame, GrpcMessageReader } from "./frames.ts";

test("GrpcMessageReader returns the messages, however their bytes are split", () => {
  const messages = fc.array(fc.uint8Array({ maxLength: 2000 }), { maxLength: 10 });
  fc.assert(
    fc.property(messages, fc.integer({ min: 1, max: 3000 }), (sent, step) => {
      const bytes = Buffer.concat(sent.map(frame));
      const reader = new GrpcMessageReader(2000);
      const received: Uint8Array[] = [];
      for (let at = 0; at < bytes.length; at += step) received.push(...reader.push(bytes.subarray(at, at + step)));

      assert.deepEqual(
        received.map((message) => Buffer.from(message).toString("hex")),
        sent.map((message) => Buffer.from(message).toString("hex")),
      );
    }),
  );
});

test("GrpcMessageReader copies each byte of a large message once", (context) => {
  const size = 8 << 20;
  const bytes = frame(Buffer.alloc(size, 1));
  const concat = context.mock.method(Buffer, "concat");
  const reader = new GrpcMessageReader(size);

  const received: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += 16_384) received.push(...reader.push(bytes.subarray(at, at + 16_384)));

  const copied = concat.mock.calls.reduce((sum, call) => sum + (call.result?.length ?? 0), 0);
  assert.equal(received[0]?.length, size);
  assert(copied <= size + 16_384, `${copied} bytes were copied for ${size}`);
});

test("GrpcMessageReader refuses a message by its announced length", () => {
  assert.throws(() => [...new GrpcMessageReader(100).push(Buffer.from([0, 0, 0, 0, 101]))], {
    code: "RESOURCE_EXHAUSTED",
    message: "received message larger than max (101 vs. 100)",
  });
  assert.throws(() => [...new GrpcMessageReader(100).push(Buffer.from([1, 0, 0, 0, 0]))], { code: "UNIMPLEMENTED" });
});
