import assert from "node:assert/strict";
import { once } from "node:events";
import { Socket } from "node:net";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { heldBytes } from "#testing/held-buffers.ts";
import { Connection } from "./connections.ts";
import { type BodySource, readBody } from "./read-body.ts";

test("a body that arrives byte by byte is held in little more than its size", async () => {
  const source = new PassThrough();
  const connection = new Connection(new Socket(), 0);
  const options = { connection, startedMs: 0, count: () => {} };
  const reading = readBody(source as unknown as BodySource, options);
  const before = heldBytes();

  for (let n = 0; n < 10_000; n++) source.emit("data", Buffer.of(n & 255));

  const held = heldBytes() - before;
  assert(held < 200_000, `${held} bytes are held`);
  source.end();
  const body = await reading;
  assert.equal(body.length, 10_000);
  assert.equal(body[9_999], 9_999 & 255);
});

test("a body that ended or was cut off before it is read does not keep anybody waiting", async () => {
  const connection = new Connection(new Socket(), 0);
  const options = { connection, startedMs: 0, count: () => {} };
  const ended = new PassThrough();
  ended.end();
  ended.read(0);
  await once(ended, "end");
  const cut = new PassThrough();
  cut.destroy();
  await once(cut, "close");

  assert.equal((await readBody(ended as unknown as BodySource, options)).length, 0);
  await assert.rejects(readBody(cut as unknown as BodySource, options), /hung up/);
  assert.equal(connection.receiving.size, 0);
});

test("a body in very many tiny chunks is refused, because each takes time", async () => {
  const source = new PassThrough();
  const connection = new Connection(new Socket(), 0);
  const reading = readBody(source as unknown as BodySource, { connection, startedMs: 0, count: () => {} });

  for (let n = 0; n <= 10_000; n++) source.emit("data", Buffer.of(32));

  await assert.rejects(reading, { code: 400, message: "more than 10000 chunks have less than 64 bytes" });
  assert.equal(connection.receiving.size, 0);
});
