import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { type Duplex, duplexPair } from "node:stream";
import { suite, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { acceptOn, webSocketPair } from "#testing/peers/web-socket-pair.ts";
import { readWebSocketRequest, type WebSocketConnection, type WebSocketMessage } from "./websocket.ts";

async function collect(connection: WebSocketConnection): Promise<WebSocketMessage[]> {
  return await Array.fromAsync(connection.messages());
}
const textsOf = (messages: readonly WebSocketMessage[]) =>
  messages.map(({ isText, data }) => [isText, data.toString()] as const);

suite("WebSocketConnection", { timeout: 120_000 }, () => {
  test("carries messages both ways and closes on both sides", async () => {
    const { client, server } = await webSocketPair();
    const heard = collect(client);

    await client.send("binary", Buffer.of(1), Buffer.from("up"));
    const { value: up } = await server.messages().next();
    await server.send("text", Buffer.from("down"));
    server.close(1000, "done");

    assert.deepEqual(textsOf([up ?? assert.fail()]), [[false, "\x01up"]]);
    assert.deepEqual(textsOf(await heard), [[true, "down"]]);
    assert.deepEqual(client.closedBy, { code: 1000, reason: "done" });
  });

  test("accepts the protocols of Kubernetes, which are not valid HTTP tokens", async () => {
    const protocol = "SPDY/3.1+portforward.k8s.io";

    const { server, wire, head } = await rawClient(protocol);

    assert.match(head, /^HTTP\/1\.1 101 /);
    assert.match(head, /\r\nSec-WebSocket-Protocol: SPDY\/3\.1\+portforward\.k8s\.io\r\n/);
    server.close();
    wire.destroy();
  });

  test("delivers what was sent before the close", async () => {
    const { client, server } = await webSocketPair();
    const heard = collect(server);

    for (let n = 0; n < 3; n++) await client.send("binary", Buffer.from(String(n)));
    client.close();

    assert.deepEqual(
      textsOf(await heard).map(([, text]) => text),
      ["0", "1", "2"],
    );
  });

  test("does not send faster than the peer reads", async () => {
    const { client, server } = await webSocketPair();
    let sent = 0;
    const sending = (async () => {
      for (; sent < 100; sent++) await client.send("binary", Buffer.alloc(64 << 10));
      client.close();
    })();

    for (let turn = 0; turn < 50; turn++) await setImmediate();
    const before = sent;
    const received = (await collect(server)).length;
    await sending;

    assert(before < 10, `${before} messages were accepted although nobody read them`);
    assert.equal(received, 100);
  });

  test("ends when the peer vanishes", async () => {
    const { server, clientSide, serverSide } = await webSocketPair();
    const heard = collect(server);

    clientSide.destroy();
    serverSide.destroy();

    assert.deepEqual(await heard, []);
    await assert.rejects(server.send("text", Buffer.from("x")), /closed/);
  });
});

const empty = { fragment: [0x02, 0x80, 0, 0, 0, 0], more: [0x00, 0x80, 0, 0, 0, 0], ping: [0x89, 0x80, 0, 0, 0, 0] };

/** A client that writes raw frames. */
async function rawClient(protocol = "x"): Promise<{ server: WebSocketConnection; wire: Duplex; head: string }> {
  const [wire, serverSide] = duplexPair();
  const accepted = acceptOn(serverSide);
  const key = randomBytes(16).toString("base64");
  const head = "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n";
  wire.write(`${head}Sec-WebSocket-Protocol: ${protocol}\r\n`);
  wire.write(`Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${key}\r\n\r\n`);
  const server = await accepted;
  await once(wire, "readable");
  return { server, wire, head: String(wire.read()) };
}

suite("a hostile WebSocket client", { timeout: 120_000 }, () => {
  const overLimit = [
    {
      name: "fragments without an end",
      first: empty.fragment,
      next: empty.more,
      message: /Too many message fragments/,
    },
    {
      name: "a message of 5 MiB",
      first: [0x82, 0xff, 0, 0, 0, 0, 0, 0x50, 0, 0, 0, 0, 0, 0],
      next: [],
      message: /Max payload size exceeded/,
    },
    { name: "frames without a mask", first: [0x82, 0x00], next: [], message: /MASK must be set/ },
    { name: "compressed frames", first: [0xc2, 0x80, 0, 0, 0, 0], next: [], message: /RSV1 must be clear/ },
  ];
  for (const { name, first, next, message } of overLimit) {
    test(`is disconnected for ${name}`, async () => {
      const { server, wire } = await rawClient();
      wire.resume();
      const heard = collect(server);

      wire.write(Buffer.from(first));
      if (next.length > 0) wire.write(Buffer.from(Array(2000).fill(next).flat()));

      await assert.rejects(heard, message);
      wire.destroy();
    });
  }

  test("is not sent a pong for each of its pings", async () => {
    const { server, wire } = await rawClient();
    let pongs = 0;
    wire.on("data", (chunk: Buffer) => {
      pongs += chunk.filter((byte) => byte === 0x8a).length;
    });
    const heard = collect(server);

    wire.write(Buffer.from(Array(1000).fill(empty.ping).flat()));
    wire.write(Buffer.from([0x82, 0x81, 0, 0, 0, 0, 0x78]));
    wire.write(Buffer.from([0x88, 0x80, 0, 0, 0, 0]));
    wire.end();

    assert.deepEqual(textsOf(await heard), [[false, "x"]]);
    assert(pongs < 10, `${pongs} pongs`);
  });

  test("cannot make the server hold messages that nobody reads", async () => {
    const { server, wire } = await rawClient();
    const messages = server.messages();
    const block = Buffer.from(Array(1000).fill([0x82, 0x81, 0, 0, 0, 0, 0x78]).flat());
    let taken = 0;

    const first = messages.next();
    for (; taken < 1000 && wire.write(block); taken++) await setImmediate();
    await first;

    assert(taken < 20, `${taken} blocks were taken while nobody read`);
    wire.destroy();
  });
});

test("readWebSocketRequest() reads the offered protocols without tokens, and refuses bad requests", () => {
  const headers = {
    upgrade: "websocket",
    "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
    "sec-websocket-version": "13",
  };

  const offered = "v5.channel.k8s.io, base64url.bearer.authorization.k8s.io.dA, v4.channel.k8s.io";
  const request = readWebSocketRequest({ ...headers, "sec-websocket-protocol": offered });

  assert.deepEqual(request?.protocols, ["v5.channel.k8s.io", "v4.channel.k8s.io"]);
  assert.equal(readWebSocketRequest({ upgrade: "SPDY/3.1" }), undefined);
  assert.throws(() => readWebSocketRequest({ ...headers, "sec-websocket-version": "8" }), /not 13/);
  assert.throws(() => readWebSocketRequest({ ...headers, "sec-websocket-key": "short" }), /bad WebSocket key/);
});
