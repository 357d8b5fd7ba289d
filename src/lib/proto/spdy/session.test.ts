import assert from "node:assert/strict";
import { duplexPair } from "node:stream";
import { suite, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { constants, inflateRawSync } from "node:zlib";
import { systemClock } from "#lib/async/clock.ts";
import {
  control,
  controlFrame,
  dataHead,
  flagFin,
  goAway,
  ping,
  rstStream,
  type SpdyFrame,
  SpdyFrameReader,
  synReply,
  synStream,
} from "./frames.ts";
import { HeaderEncoder } from "./headers.ts";
import { SpdySession } from "./session.ts";

/** The inflated list of names and values. */
function plainOf(deflated: Uint8Array): Buffer {
  return inflateRawSync(deflated, { finishFlush: constants.Z_SYNC_FLUSH });
}
const text = (value: string): Buffer => Buffer.concat([word(value.length), Buffer.from(value)]);
function word(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

test("HeaderEncoder writes one zlib stream that is flushed after each block", () => {
  const encoder = new HeaderEncoder();

  const first = encoder.encode({ streamType: "stdin" });
  const second = encoder.encode({ a: "1", b: "" });

  // The zlib header with the checksum of SPDY/3's dictionary.
  assert.deepEqual([...first.subarray(0, 6)], [0x78, 0xbb, 0xe3, 0xc6, 0xa7, 0xc2]);
  assert.deepEqual(plainOf(first.subarray(6)), Buffer.concat([word(1), text("streamtype"), text("stdin")]));
  assert.deepEqual(plainOf(second), Buffer.concat([word(2), text("a"), text("1"), text("b"), text("")]));
  assert.equal(plainOf(Buffer.concat([first.subarray(6), second])).length, plainOf(first.subarray(6)).length + 23);
});

test("SpdyFrameReader reads frames, however their bytes are split", () => {
  const data = Buffer.alloc(70_000, "x");
  const bytes = Buffer.concat([synStream(1, Buffer.from("block")), dataHead(1, data.length, flagFin), data, ping(7)]);

  for (const size of [bytes.length, 4096, 3]) {
    const reader = new SpdyFrameReader();
    const frames: SpdyFrame[] = [];
    for (let at = 0; at < bytes.length; at += size) frames.push(...reader.read(bytes.subarray(at, at + size)));

    const [open, content, last] = frames;
    assert.equal(frames.length, 3);
    assert(open?.type === "control" && open.kind === control.synStream);
    assert.equal(open.payload.toString("latin1"), "\0\0\0\x01\0\0\0\0\0\0block");
    assert(content?.type === "data" && content.streamId === 1 && content.isLast);
    assert(content.data.equals(data));
    assert(last?.type === "control" && last.kind === control.ping && last.payload.equals(word(7)));
  }
});

test("SpdyFrameReader refuses other versions and oversized frames", () => {
  assert.throws(() => [...new SpdyFrameReader().read(Buffer.from([0x80, 2, 0, 1, 0, 0, 0, 0]))], /version 2/);
  assert.throws(() => [...new SpdyFrameReader().read(dataHead(1, 0xffffff))], /16777215 bytes/);
});

/** The peer's end, frame by frame. */
function aSession() {
  const [near, far] = duplexPair();
  const session = new SpdySession(near, { clock: systemClock });
  const reader = new SpdyFrameReader();
  const frames: SpdyFrame[] = [];
  far.on("data", (chunk: Buffer) => frames.push(...reader.read(chunk)));
  const next = async (): Promise<SpdyFrame> => {
    for (;;) {
      const frame = frames.shift();
      if (frame) return frame;
      await setImmediate();
    }
  };
  return { session, near, far, next };
}
const nothing = (): void => {};
const isKind = (frame: SpdyFrame, kind: number): boolean => frame.type === "control" && frame.kind === kind;

suite("SpdySession", () => {
  test("sends data only once the peer has accepted the stream, in order, and then the end", async () => {
    const { session, far, next } = aSession();
    const running = session.run();
    const stream = session.open({ streamtype: "stdin" }, nothing);
    const written = stream.write(Buffer.from("hello")).then(() => stream.end());

    assert(isKind(await next(), control.synStream));
    far.write(synReply(stream.id, Buffer.alloc(0)));
    const data = await next();
    const end = await next();

    assert(data.type === "data" && data.data.toString() === "hello" && !data.isLast);
    assert(end.type === "data" && end.data.length === 0 && end.isLast);
    await written;
    far.end();
    await running;
    assert.equal(await stream.ended, "lost");
  });

  test("delivers data at the reader's pace", async () => {
    const { session, far, next } = aSession();
    const running = session.run();
    const gate = Promise.withResolvers<void>();
    let received = 0;
    const stream = session.open({ streamtype: "stdout" }, async (data) => {
      await gate.promise;
      received += data.length;
    });
    await next();
    far.write(synReply(stream.id, Buffer.alloc(0)));
    let taken = 0;
    const block = Buffer.alloc(40_000);
    for (; taken < 100 && far.write(Buffer.concat([dataHead(1, block.length), block])); taken++) {
      await setImmediate();
    }

    assert(taken < 10, `${taken} blocks were taken before anybody read`);
    gate.resolve();
    far.end(Buffer.concat([dataHead(1, 3, flagFin), Buffer.from("end")]));
    await running;
    assert.equal(await stream.ended, "finished");
    assert.equal(received, (taken + 1) * 40_000 + 3);
  });

  test("answers pings, accepts resets and GOAWAY, and refuses streams that the peer opens", async () => {
    const { session, far, next } = aSession();
    const running = session.run();
    const [one, two] = [session.open({}, nothing), session.open({}, nothing)];
    await next();
    await next();

    far.write(Buffer.concat([ping(4), ping(3), controlFrame(control.settings, word(0))]));
    assert(isKind(await next(), control.ping));
    far.write(synStream(2, Buffer.alloc(0)));
    const refused = await next();
    far.write(Buffer.concat([rstStream(one.id, 1), goAway(0)]));
    far.end();
    await running;

    assert(refused.type === "control" && refused.kind === control.rstStream && refused.payload.readUInt32BE(0) === 2);
    assert.deepEqual([await one.ended, await two.ended], ["reset", "lost"]);
    await assert.rejects(one.write(Buffer.from("x")), /reset before it was open/);
  });

  const floods = [
    { name: "pings", block: ping(4) },
    { name: "new streams", block: synStream(2, Buffer.alloc(0)) },
    { name: "data of unknown streams", block: Buffer.concat([dataHead(99, 1), Buffer.alloc(1)]) },
  ];
  for (const { name, block } of floods) {
    test(`stops reading ${name} from a peer that does not read the replies`, async () => {
      const [near, far] = duplexPair();
      const session = new SpdySession(near, { clock: systemClock });
      const running = session.run();
      const blocks = Buffer.concat(Array(1000).fill(block));

      let taken = 0;
      for (; taken < 1000 && far.write(blocks); taken++) await setImmediate();

      assert(taken < 30, `${taken} thousand frames were taken`);
      assert(near.writableLength < 100_000, `${near.writableLength} bytes of answers are held`);
      for (const side of [near, far]) side.destroy();
      await running;
    });
  }

  test("resets open streams when it is closed", async () => {
    const { session, far, next } = aSession();
    const running = session.run();
    session.open({}, nothing);
    await next();

    session.close();

    assert(isKind(await next(), control.rstStream));
    assert(isKind(await next(), control.goAway));
    far.end();
    await running;
  });
});
