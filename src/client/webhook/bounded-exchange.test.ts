import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { test } from "node:test";
import { systemClock } from "#lib/async/clock.ts";
import { neverAborted } from "#lib/async/tasks.ts";
import type { Transport, WireResponse } from "../transport/wire.ts";
import { exchangeBounded } from "./bounded-exchange.ts";

/** What becomes of an answer in chunks of one byte. */
function receive(chunks: number) {
  const body = Readable.from(
    (function* () {
      for (let n = 0; n < chunks; n++) yield Buffer.of(32);
    })(),
  );
  const transport = { send: async () => ({ status: 200, headers: {}, body }) as unknown as WireResponse };
  const limits = { timeoutMs: 60_000, maxBytes: 1 << 20, clock: systemClock, signal: neverAborted };
  return exchangeBounded(
    transport as unknown as Transport,
    { method: "POST", path: "/", headers: {}, body: undefined },
    limits,
  );
}

test("exchangeBounded() joins small chunks, and refuses an answer in very many of them", async () => {
  assert.equal((await receive(10_000)).body.length, 10_000);
  await assert.rejects(receive(10_001), /more than 10000 chunks have less than 64 bytes/);
});
