import assert from "node:assert/strict";
import { duplexPair } from "node:stream";
import { suite, test } from "node:test";
import { constants, deflateSync } from "node:zlib";
import { systemClock } from "#lib/async/clock.ts";
import { spdyDictionary } from "./dictionary.ts";
import { HeaderDecoder, HeaderEncoder } from "./headers.ts";
import { SpdySession } from "./session.ts";

suite("a SPDY session that accepts streams", () => {
  test("reads the headers of streams, and both sides can write", async () => {
    const [near, far] = duplexPair();
    const seen: unknown[] = [];
    const server = new SpdySession(far, {
      clock: systemClock,
      accept(headers, stream) {
        seen.push(headers);
        if (headers.streamtype === "bad") return undefined;
        return async (data) => {
          await stream.write(Buffer.from(data.toString().toUpperCase()));
          await stream.end();
        };
      },
    });
    const client = new SpdySession(near, { clock: systemClock });
    const [serving, running] = [server.run(), client.run()];
    let received = "";
    const stream = client.open({ streamtype: "data", port: "80" }, (data) => {
      received += data.toString();
    });
    const refused = client.open({ streamtype: "bad" }, () => {});

    await stream.write(Buffer.from("hello"));

    assert.equal(await stream.ended, "finished");
    assert.equal(await refused.ended, "reset");
    assert.equal(received, "HELLO");
    assert.deepEqual(seen, [{ streamtype: "data", port: "80" }, { streamtype: "bad" }]);
    server.close();
    client.close();
    await Promise.all([serving, running]);
  });
});

suite("HeaderDecoder", () => {
  const compressed = (plain: Uint8Array): Buffer =>
    deflateSync(plain, { dictionary: spdyDictionary(), finishFlush: constants.Z_SYNC_FLUSH });

  test("reads compressed blocks and stored ones, of one connection each", async () => {
    const block = Buffer.from("\0\0\0\x01\0\0\0\x06accept\0\0\0\x01x", "latin1");
    using first = new HeaderDecoder();
    using second = new HeaderDecoder();
    const encoder = new HeaderEncoder();

    assert.deepEqual(await first.decode(compressed(block)), { accept: "x" });
    assert.deepEqual(await second.decode(encoder.encode({ a: "1" })), { a: "1" });
    assert.deepEqual(await second.decode(encoder.encode({ b: "2", c: "" })), { b: "2", c: "" });
  });

  test("refuses blocks that are no headers, end too early, or are far too large", async () => {
    const refused = async (block: Uint8Array) => {
      using decoder = new HeaderDecoder();
      await assert.rejects(decoder.decode(block), /headers of a stream/);
    };

    await refused(Buffer.from("no zlib at all"));
    await refused(compressed(Buffer.from([0, 0, 0, 9, 0, 0, 0, 1])));
    await refused(compressed(Buffer.alloc(10 << 20)));
  });
});
