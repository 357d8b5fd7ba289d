import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import http2 from "node:http2";
import net from "node:net";
import { tmpdir } from "node:os";
import { afterEach, beforeEach, suite, test } from "node:test";
import { GrpcClient, rpc } from "./client.ts";
import { field, message } from "./message.ts";
import { isGrpcError } from "./status.ts";

const Text = message({ text: field(1, "string") });
const echo = rpc("/test.Echo/Say", Text, Text);
const many = rpc("/test.Echo/Many", Text, Text);
const refuse = rpc("/test.Echo/Refuse", Text, Text);
const refuseImmediately = rpc("/test.Echo/RefuseImmediately", Text, Text);
const hang = rpc("/test.Echo/Hang", Text, Text);
const twoWay = rpc("/test.Echo/TwoWay", Text, Text);

suite("GrpcClient with keepalive", { timeout: 120_000 }, () => {
  const keepalive = { everyMs: 20, timeoutMs: 50, greetingMs: 50 };
  /** Sends these bytes to whoever connects, and nothing else. */
  const startSilent = async (greeting: Buffer) => {
    const received: Buffer[] = [];
    const silent = net.createServer((socket) =>
      socket
        .on("error", () => {})
        .on("data", (chunk: Buffer) => received.push(chunk))
        .write(greeting),
    );
    const sockets = new Set<net.Socket>();
    silent.on("connection", (socket) => sockets.add(socket));
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    return {
      address: `http://127.0.0.1:${(silent.address() as net.AddressInfo).port}`,
      received,
      async [Symbol.asyncDispose]() {
        for (const socket of sockets) socket.destroy();
        await new Promise((resolve) => silent.close(resolve));
      },
    };
  };

  test("gives up on a server that says nothing, and has sent it no call", async () => {
    await using silent = await startSilent(Buffer.alloc(0));
    using client = new GrpcClient({ address: silent.address, keepalive });

    await assert.rejects(
      client.call(echo, { text: "x" }),
      (error) => isGrpcError(error, "UNAVAILABLE") && error.isUnsent && /no greeting/.test(error.message),
    );

    const types = frameTypes(Buffer.concat(silent.received));
    assert(types.includes(settingsFrame), `${types}`);
    assert(!types.includes(headersFrame), `${types}`);
  });

  test("waits for the greeting only as long as the call may take", async () => {
    await using silent = await startSilent(Buffer.alloc(0));
    using client = new GrpcClient({ address: silent.address, keepalive: { ...keepalive, greetingMs: 60_000 } });

    await assert.rejects(
      client.call(echo, { text: "x" }, { timeoutMs: 20 }),
      (error) => isGrpcError(error, "DEADLINE_EXCEEDED") && error.isUnsent,
    );
    const signal = AbortSignal.timeout(20);
    await assert.rejects(client.call(echo, { text: "x" }, { signal }), { name: "TimeoutError" });
  });

  test("gives up on a server that answers no ping, which may have seen the call", async () => {
    const emptySettings = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);
    await using silent = await startSilent(emptySettings);
    using client = new GrpcClient({ address: silent.address, keepalive: { ...keepalive, greetingMs: 60_000 } });

    await assert.rejects(
      client.call(echo, { text: "x" }),
      (error) => isGrpcError(error, "UNAVAILABLE") && !error.isUnsent && /no answer to a ping/.test(error.message),
    );
  });
});

const settingsFrame = 4;
const headersFrame = 1;
/** The types of the frames behind the preface of a client. */
function frameTypes(sent: Buffer): number[] {
  const types: number[] = [];
  for (let at = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".length; at + 9 <= sent.length; at += 9 + sent.readUIntBE(at, 3)) {
    types.push(sent.readUInt8(at + 3));
  }
  return types;
}

suite("GrpcClient", { timeout: 120_000 }, () => {
  let dir: string;
  let client: GrpcClient;
  let server: EchoServer;

  beforeEach(async () => {
    dir = await mkdtemp(`${tmpdir()}/orlop-grpc-`);
    server = await serve(`${dir}/s`);
    client = new GrpcClient({ address: `unix://${dir}/s` });
  });
  afterEach(async () => {
    client.close();
    await server.stop();
    await rm(dir, { recursive: true });
  });

  test("calls a method", async () => {
    const reply = await client.call(echo, { text: "x".repeat(300_000) });

    assert.equal(reply.text.length, 300_000);
  });

  test("runs many calls concurrently on one connection", async () => {
    const replies = await Promise.all(Array.from({ length: 500 }, (_, n) => client.call(echo, { text: `${n}` })));

    assert.deepEqual(
      replies.map(({ text }) => Number(text)),
      Array.from({ length: 500 }, (_, n) => n),
    );
    assert.equal(server.sessions(), 1);
  });

  test("streams replies, and cancels the call when the loop is left", async () => {
    const all = await Array.fromAsync(client.stream(many, { text: "3" }));
    for await (const { text } of client.stream(many, { text: "1000000" })) if (text === "5") break;

    assert.deepEqual(
      all.map(({ text }) => text),
      ["0", "1", "2"],
    );
    assert.equal((await client.call(echo, { text: "still there" })).text, "still there");
  });

  test("streams both ways", async () => {
    async function* words() {
      yield { text: "a" };
      yield { text: "b" };
    }

    const replies = await Array.fromAsync(client.duplex(twoWay, words()));

    assert.deepEqual(replies, [{ text: "a" }, { text: "b" }]);
  });

  for (const method of [refuse, refuseImmediately]) {
    test(`reports the status of a refusal: ${method.path}`, async () => {
      await assert.rejects(client.call(method, {}), { name: "GrpcError", code: "NOT_FOUND", message: "gone: ü" });
      await assert.rejects(Array.fromAsync(client.stream(method, {})), { code: "NOT_FOUND", message: "gone: ü" });
    });
  }

  test("ends a call at its deadline", async () => {
    await assert.rejects(client.call(hang, {}, { timeoutMs: 5 }), { code: "DEADLINE_EXCEEDED" });
    await assert.rejects(Array.fromAsync(client.stream(hang, {}, { timeoutMs: 5 })), { code: "DEADLINE_EXCEEDED" });
  });

  test("ends a call when its signal fires, with the signal's reason", async () => {
    const stop = new AbortController();
    const calls = [
      client.call(hang, {}, { signal: stop.signal }),
      Array.fromAsync(client.stream(hang, {}, { signal: stop.signal })),
    ];
    stop.abort(new Error("enough"));

    for (const call of calls) await assert.rejects(call, /enough/);
    await assert.rejects(client.call(echo, {}, { signal: stop.signal }), /enough/);
  });

  test("fails while the server is away and works again when it is back", async () => {
    const lost = assert.rejects(client.call(hang, {}), (error) => isGrpcError(error, "UNAVAILABLE"));
    await client.call(echo, { text: "1" });
    await server.stop();

    await lost;
    await assert.rejects(client.call(echo, {}), (error) => isGrpcError(error, "UNAVAILABLE"));

    server = await serve(`${dir}/s`);
    assert.equal((await client.call(echo, { text: "2" })).text, "2");
  });
});

interface EchoServer {
  stop(): Promise<void>;
  sessions(): number;
}

async function serve(path: string): Promise<EchoServer> {
  const server = http2.createServer();
  const open = new Set<http2.ServerHttp2Session>();
  let count = 0;
  server.on("session", (session) => {
    count++;
    open.add(session);
    session.on("close", () => open.delete(session));
  });
  server.on("stream", (stream: http2.ServerHttp2Stream, headers) => answer(stream, String(headers[":path"])));
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return {
    sessions: () => count,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const session of open) session.destroy();
      }),
  };
}

function answer(stream: http2.ServerHttp2Stream, path: string): void {
  const head = { ":status": 200, "content-type": "application/grpc" };
  const refusal = { "grpc-status": "5", "grpc-message": encodeURIComponent("gone: ü") };
  stream.on("error", () => {});
  if (path.endsWith("/Hang")) return;
  if (path.endsWith("/RefuseImmediately")) {
    stream.respond({ ...head, ...refusal }, { endStream: true });
    return;
  }
  stream.respond(head, { waitForTrailers: true });
  const status = path.endsWith("/Refuse") ? refusal : { "grpc-status": "0" };
  stream.on("wantTrailers", () => stream.sendTrailers(status));
  const chunks: Buffer[] = [];
  stream.on("data", (chunk: Buffer) => {
    if (path.endsWith("/TwoWay")) stream.write(chunk);
    else chunks.push(chunk);
  });
  stream.on("end", async () => {
    if (path.endsWith("/Say")) stream.write(Buffer.concat(chunks));
    const { text } = Text.decode(Buffer.concat(chunks).subarray(5));
    const count = path.endsWith("/Many") ? Number(text) : 0;
    for (let n = 0; n < count && !stream.destroyed; n++) {
      const bytes = Text.encode({ text: `${n}` });
      if (!stream.write(Buffer.concat([Buffer.from([0, 0, 0, 0, bytes.length]), bytes]))) {
        await new Promise((resolve) => stream.once("drain", resolve).once("close", resolve));
      }
    }
    stream.end();
  });
}
