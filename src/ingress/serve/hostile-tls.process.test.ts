import assert from "node:assert/strict";
import { once } from "node:events";
import net from "node:net";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { type TLSSocket } from "node:tls";
import { type Clock, systemClock } from "#lib/async/clock.ts";
import { encodeHello, inRecords } from "../routing/client-hello.suite.ts";
import { maxHelloBytes } from "../routing/client-hello.ts";
import { echo, openBackend, openProxy, routeTo, type TestProxy } from "./proxy.suite.ts";
import { connect, type RawBackend, scope, serveBytes, tlsRoute } from "./relay.suite.ts";

interface Running extends AsyncDisposable {
  readonly proxy: TestProxy;
  readonly db: RawBackend;
}

/** `db.example` is passed on; `web.example` is served. */
async function start(change: Parameters<typeof openProxy>[0] = {}): Promise<Running> {
  await using opened = new AsyncDisposableStack();
  const db = opened.use(await serveBytes((socket) => socket.pipe(socket), "db.example"));
  const web = opened.use(await openBackend(echo));
  const proxy = opened.use(await openProxy(change));
  proxy.serve([routeTo("web")], ["web.example"], [scope("db.example", tlsRoute("db.example"))]);
  proxy.backend("db", db.port);
  proxy.backend("web", web.port);
  const held = opened.move();
  return { proxy, db, [Symbol.asyncDispose]: () => held.disposeAsync() };
}

/** What comes back until the connection ends, in whatever way. */
async function send(port: number, ...parts: readonly Buffer[]): Promise<Buffer> {
  const socket = net.connect({ port, host: "127.0.0.1", noDelay: true });
  const received: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => received.push(chunk));
  socket.on("error", () => undefined);
  const closed = new Promise((resolve) => socket.once("close", resolve));
  for (const part of parts) {
    if (socket.destroyed) break;
    socket.write(part);
    await new Promise(setImmediate);
  }
  await closed;
  return Buffer.concat(received);
}

const request = "GET / HTTP/1.1\r\nHost: web.example\r\n\r\n";

/** A connection on which something came back. */
async function converse(port: number, host: string): Promise<TLSSocket> {
  const socket = connect(port, host);
  socket.write(request);
  await once(socket, "data");
  socket.on("error", () => undefined);
  return socket;
}
async function isServed({ proxy }: Running, host: string): Promise<void> {
  (await converse(proxy.plane.httpsPort, host)).destroy();
}

const hello = (serverName?: string, padding = 0): Buffer =>
  encodeHello({ serverName, others: new Map([[21, padding]]) });

const alert = 21;
const attacks: readonly { readonly name: string; readonly parts: readonly Buffer[] }[] = [
  { name: "a request of HTTP", parts: [Buffer.from("GET / HTTP/1.1\r\nHost: db.example\r\n\r\n")] },
  { name: "random bytes", parts: [Buffer.from([...Array(4_000).keys()].map((at) => (at * 7919) % 251))] },
  { name: "a hello without a name", parts: [inRecords(hello())] },
  { name: "a name that nobody has", parts: [inRecords(hello("other.example"))] },
  { name: "a hello of 16 KiB and more", parts: [inRecords(hello("db.example", maxHelloBytes), 9_000)] },
  { name: "records of a byte", parts: [inRecords(hello("db.example"), 1)] },
  { name: "a hello that announces 16 MiB", parts: [Buffer.from([22, 3, 1, 0, 4, 1, 255, 255, 255])] },
];
for (const { name, parts } of attacks) {
  test(`${name} is refused, reaches no backend, and harms nobody else`, async () => {
    await using running = await start();

    const answer = await send(running.proxy.plane.httpsPort, ...parts);

    // TLS may say what is wrong, and nothing else.
    assert([undefined, alert].includes(answer[0]));
    assert.equal(running.db.count(), 0);
    await isServed(running, "db.example");
    await isServed(running, "web.example");
  });
}

test("a hello in single bytes and small records is followed", async () => {
  await using running = await start();
  const port = running.proxy.plane.httpsPort;

  for (const host of ["db.example", "web.example"]) {
    const splitter = net.createServer((socket) => {
      const other = net.connect({ port, host: "127.0.0.1", noDelay: true });
      for (const one of [socket, other]) one.on("error", () => undefined);
      other.pipe(socket);
      socket.once("data", async (chunk: Buffer) => {
        for (const byte of inRecords(chunk.subarray(5), 40)) {
          other.write(Buffer.from([byte]));
          await new Promise(setImmediate);
        }
        socket.pipe(other);
      });
    });
    await new Promise<void>((resolve) => splitter.listen(0, "127.0.0.1", resolve));
    (await converse((splitter.address() as net.AddressInfo).port, host)).destroy();
    splitter.close();
  }
});

/** Ten seconds are a tenth of one. */
const quick: Clock = {
  now: () => systemClock.now() * 100,
  after: (ms, act) => systemClock.after(ms / 100, act),
  sleep: (ms, signal) => systemClock.sleep(ms / 100, signal),
};

test("a client that does not finish its hello is cut, however it spreads the bytes", async () => {
  await using running = await start({ clock: quick });
  const port = running.proxy.plane.httpsPort;
  const bytes = inRecords(hello("db.example"));
  const slow = net.connect({ port, host: "127.0.0.1", noDelay: true });
  slow.on("error", () => undefined);
  let sent = 0;
  const timer = setInterval(() => slow.write(bytes.subarray(sent, ++sent)), 10);

  await Promise.all([send(port), send(port, bytes.subarray(0, 20)), once(slow, "close")]);
  clearInterval(timer);

  assert(sent < bytes.length);
  assert.equal(running.db.count(), 0);
});

test("a connection without a byte for long is closed at both ends", async () => {
  await using running = await start({
    clock: {
      ...systemClock,
      now: () => systemClock.now() * 1e6,
      after: (ms, act) => systemClock.after(ms > 1e6 ? 20 : ms, act),
    },
  });
  const socket = await converse(running.proxy.plane.httpsPort, "db.example");

  await once(socket, "close");
});

test("connections that are passed on count among those in progress", async () => {
  await using running = await start({ requestLimits: { all: 2, perAddress: 1 } });
  const { httpsPort } = running.proxy.plane;
  const first = await converse(httpsPort, "db.example");

  await once(connect(httpsPort, "db.example"), "error");
  first.destroy();
  await once(first, "close");
  const again = async (): Promise<void> => {
    const next = await converse(httpsPort, "db.example").catch(() => undefined);
    if (!next) return setTimeout(10).then(again);
    next.destroy();
  };
  await again();
});

test("a connection that comes back to the proxy is closed", async () => {
  await using running = await start();
  const { proxy } = running;
  proxy.backend("db", proxy.plane.httpsPort);

  await once(connect(proxy.plane.httpsPort, "db.example"), "error");

  assert.deepEqual(proxy.faults, ["the connection goes in a circle"]);
});

test("a client that leaves takes its connection to the backend with it, and the other way round", async () => {
  const ends = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let at = 0;
  await using db = await serveBytes((socket) => {
    const mine = at++;
    socket.on("data", (data) => (mine === 1 ? socket.resetAndDestroy() : socket.write(data)));
    socket.once("end", () => socket.end());
    socket.once("close", () => ends[mine]?.resolve());
  });
  await using proxy = await openProxy();
  proxy.serve([], [], [scope("db.example", tlsRoute("db.example", { isTerminated: true }))]);
  proxy.backend("db", db.port);

  (await converse(proxy.plane.httpsPort, "db.example")).destroy();
  await ends[0]?.promise;
  const second = connect(proxy.plane.httpsPort, "db.example");
  second.on("error", () => undefined);
  second.write(request);
  await once(second, "close");
});
