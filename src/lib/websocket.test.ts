import assert from "node:assert/strict";
import { once } from "node:events";
import { duplexPair } from "node:stream";
import { suite, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { systemClock } from "./clock.ts";
import { readWebSocketRequest, WebSocketConnection, type WebSocketMessage, webSocketAcceptance } from "./websocket.ts";
import { acceptKey, encodeFrame, FrameReader, opcode, type WebSocketFrame } from "./websocket-frames.ts";

const mask = Buffer.from([1, 2, 3, 4]);
const server = { masked: true, maxPayload: 1 << 20 };

suite("FrameReader", () => {
  for (const size of [0, 1, 125, 126, 65_535, 65_536, 200_000]) {
    test(`reads back a masked frame of ${size} bytes, however it is cut`, () => {
      const payload = Buffer.alloc(size, "orlop");
      const bytes = encodeFrame(opcode.binary, payload, mask);

      const whole = [...new FrameReader(server).read(Buffer.from(bytes))];
      const reader = new FrameReader(server);
      const cut: WebSocketFrame[] = [];
      for (let at = 0; at < bytes.length; at += 7919)
        cut.push(...reader.read(Buffer.from(bytes.subarray(at, at + 7919))));

      for (const [frame, ...others] of [whole, cut]) {
        assert.deepEqual(others, []);
        assert.deepEqual([frame?.isFinal, frame?.opcode], [true, opcode.binary]);
        assert(frame?.payload.equals(payload));
      }
    });
  }

  const bad = [
    { name: "an unmasked frame of a client", bytes: encodeFrame(opcode.text, Buffer.from("x")) },
    { name: "a reserved bit", bytes: [0xc1, 0x80, 0, 0, 0, 0] },
    { name: "an unknown opcode", bytes: [0x83, 0x80, 0, 0, 0, 0] },
    { name: "a fragmented ping", bytes: [0x09, 0x80, 0, 0, 0, 0] },
    { name: "a ping of 126 bytes", bytes: [0x89, 0xfe, 0, 126] },
    { name: "a payload over the limit", bytes: [0x82, 0xff, 0, 0, 1, 0, 0, 0, 0, 0] },
  ];
  for (const { name, bytes } of bad) {
    test(`refuses ${name}`, () => {
      assert.throws(() => [...new FrameReader(server).read(Buffer.from(bytes))], { name: "WebSocketError" });
    });
  }
});

function connected() {
  const [left, right] = duplexPair();
  const near = new WebSocketConnection(left, { role: "client", clock: systemClock });
  const far = new WebSocketConnection(right, { role: "server", clock: systemClock });
  return { near, far, left, right };
}

async function collect(connection: WebSocketConnection): Promise<WebSocketMessage[]> {
  const messages: WebSocketMessage[] = [];
  for await (const message of connection.messages()) messages.push(message);
  return messages;
}

suite("WebSocketConnection", () => {
  test("carries messages both ways and closes on both sides", async () => {
    const { near, far } = connected();
    const heard = [collect(near), collect(far)];

    await near.send("binary", Buffer.of(1), Buffer.from("up"));
    await far.send("text", Buffer.from("down"));
    far.close(1000, "done");

    const [down, up] = await Promise.all(heard);
    assert.deepEqual(
      up?.map(({ isText, data }) => [isText, data.toString()]),
      [[false, "\x01up"]],
    );
    assert.deepEqual(
      down?.map(({ isText, data }) => [isText, data.toString()]),
      [[true, "down"]],
    );
    assert.deepEqual(near.closedBy, { code: 1000, reason: "done" });
    assert.equal(far.closedBy?.code, 1000);
  });

  test("joins fragments and answers pings between them", async () => {
    const { far, left } = connected();
    const answers: Buffer[] = [];
    left.on("data", (chunk: Buffer) => answers.push(chunk));
    const first = encodeFrame(opcode.text, Buffer.from("hel"), mask);
    first[0] = opcode.text;
    const last = encodeFrame(opcode.continuation, Buffer.from("lo"), mask);

    left.write(Buffer.concat([first, encodeFrame(opcode.ping, Buffer.from("?"), mask), last]));
    left.write(encodeFrame(opcode.close, Buffer.alloc(0), mask));

    const messages = await collect(far);
    await once(left, "end");
    left.end();
    assert.deepEqual(
      messages.map(({ data }) => data.toString()),
      ["hello"],
    );
    assert(
      Buffer.concat(answers)
        .subarray(0, 3)
        .equals(encodeFrame(opcode.pong, Buffer.from("?"))),
    );
  });

  test("says what was wrong when it cuts a peer off", async () => {
    const { near, far, left } = connected();
    const heard = collect(near);

    left.write(Buffer.of(0x83, 0x00));

    await assert.rejects(collect(far), /unknown opcode 3/);
    await heard;
    assert.deepEqual(near.closedBy, { code: 1002, reason: "unknown opcode 3" });
  });

  test("does not send faster than the peer reads", async () => {
    const { near, far } = connected();
    let sent = 0;
    const sending = (async () => {
      for (; sent < 100; sent++) await near.send("binary", Buffer.alloc(64 << 10));
      near.close();
    })();

    for (let turn = 0; turn < 50; turn++) await setImmediate();
    const before = sent;
    const received = (await collect(far)).length;
    await sending;

    assert(before < 10, `${before} messages were taken by nobody`);
    assert.equal(received, 100);
  });

  test("ends when the peer vanishes", async () => {
    const { far, left, right } = connected();
    const heard = collect(far);

    left.destroy();
    right.destroy();

    assert.deepEqual(await heard, []);
    await assert.rejects(far.send("text", Buffer.from("x")), /closed/);
  });
});

test("the handshake of RFC 6455 is answered as its example says", () => {
  const key = "dGhlIHNhbXBsZSBub25jZQ==";
  const headers = { upgrade: "websocket", "sec-websocket-key": key, "sec-websocket-version": "13" };

  const request = readWebSocketRequest({
    ...headers,
    "sec-websocket-protocol": "v5.channel.k8s.io, v4.channel.k8s.io",
  });

  assert.equal(acceptKey(key), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
  assert.deepEqual(request?.protocols, ["v5.channel.k8s.io", "v4.channel.k8s.io"]);
  assert.match(webSocketAcceptance({ key, protocols: [] }, "v5.channel.k8s.io"), /\r\nSec-WebSocket-Protocol: v5/);
  assert.equal(readWebSocketRequest({ upgrade: "SPDY/3.1" }), undefined);
  assert.throws(() => readWebSocketRequest({ ...headers, "sec-websocket-version": "8" }), /not 13/);
});
