import assert from "node:assert/strict";
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import http2 from "node:http2";
import net from "node:net";
import { test } from "node:test";
import { ask, echo, openBackend, openProxy, routeTo, sendRaw } from "./proxy.suite.ts";

const smuggled = "GET /admin HTTP/1.1\r\nHost: a\r\n\r\n";
const attacks: readonly { readonly name: string; readonly head: string; readonly body?: string }[] = [
  {
    name: "a length and chunks",
    head: "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked",
    body: `0\r\n\r\n${smuggled}`,
  },
  {
    name: "two lengths",
    head: "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nContent-Length: 33",
    body: smuggled,
  },
  {
    name: "an unknown encoding",
    head: "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\nConnection: close",
    body: `0\r\n\r\n${smuggled}`,
  },
  {
    name: "an encoding behind a space",
    head: "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked",
    body: `0\r\n\r\n${smuggled}`,
  },
  { name: "two hosts", head: "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close" },
  { name: "no host", head: "GET / HTTP/1.1\r\nConnection: close" },
  { name: "a host that is none", head: "GET / HTTP/1.1\r\nHost: a@b/c\r\nConnection: close" },
  { name: "another host in the address", head: "GET http://b/ HTTP/1.1\r\nHost: a\r\nConnection: close" },
  { name: "a tunnel", head: "TRACE / HTTP/1.1\r\nHost: a\r\nConnection: close" },
  { name: "a bare line feed", head: "GET / HTTP/1.1\nHost: a\nX: y" },
  { name: "a folded header", head: "GET / HTTP/1.1\r\nHost: a\r\nX: y\r\n z" },
  {
    name: "an upgrade with a body",
    head: "POST / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\nContent-Length: 33",
    body: smuggled,
  },
];
for (const { name, head, body = "" } of attacks) {
  test(`a request with ${name} is refused and reaches no backend`, async () => {
    await using backend = await openBackend(echo);
    await using proxy = await openProxy();
    proxy.serve([routeTo("web")]);
    proxy.backend("web", backend.port);

    const answer = await sendRaw(proxy.plane.httpPort, `${head}\r\n\r\n${body}`);

    assert.match(answer, /^HTTP\/1\.1 (400|405|501) /);
    assert.equal(backend.requests.length, 0);
  });
}

test("an offer of HTTP/2 is not passed on, because nobody would route what follows", async () => {
  await using backend = await openBackend(echo);
  await using proxy = await openProxy();
  proxy.serve([routeTo("web")]);
  proxy.backend("web", backend.port);

  const headers = { connection: "Upgrade, HTTP2-Settings", upgrade: "h2c", "http2-settings": "AAMAAABkAAQAAP__" };
  const answer = await ask(proxy.plane.httpPort, { headers });

  assert.equal(answer.status, 200);
  const seen = JSON.parse(answer.text).headers;
  assert.equal(seen.upgrade, undefined);
  assert.equal(seen["http2-settings"], undefined);
});

test("a flood of headers is refused", async () => {
  await using backend = await openBackend(echo);
  await using proxy = await openProxy();
  proxy.serve([routeTo("web")]);
  proxy.backend("web", backend.port);

  const flood = Array.from({ length: 3000 }, (_, index) => `X-${index}: ${"y".repeat(20)}`).join("\r\n");
  const answer = await sendRaw(proxy.plane.httpPort, `GET / HTTP/1.1\r\nHost: a\r\n${flood}\r\n\r\n`);

  // The connection may end before the answer is read.
  assert.match(answer, /^(HTTP\/1\.1 431 |$)/);
  assert.equal(backend.requests.length, 0);
});

test("many small headers all arrive: none is left out without a word", async () => {
  await using backend = await openBackend(echo);
  backend.server.maxHeadersCount = 0;
  await using proxy = await openProxy();
  proxy.serve([routeTo("web")]);
  proxy.backend("web", backend.port);

  const many = Array.from({ length: 1200 }, (_, index) => `h${index}: 1`).join("\r\n");
  const head = `GET / HTTP/1.1\r\nHost: a\r\n${many}\r\nx-last: here\r\nConnection: close\r\n\r\n`;
  const answer = await sendRaw(proxy.plane.httpPort, head);

  assert.equal(backend.requests[0]?.rawHeaders.includes("x-last"), true);
  assert.match(answer, /^HTTP\/1\.1 200 /);
});

test("a request that goes in a circle ends", async () => {
  await using proxy = await openProxy();
  proxy.serve([routeTo("self")]);
  proxy.backend("self", proxy.plane.httpPort);

  const answer = await ask(proxy.plane.httpPort);

  assert.equal(answer.status, 508);
});

test("streams that are opened and reset without end cost their connection", async () => {
  await using backend = await openBackend(() => undefined);
  await using proxy = await openProxy();
  proxy.serve([routeTo("web")]);
  proxy.backend("web", backend.port);

  const session = http2.connect(`http://127.0.0.1:${proxy.plane.httpPort}`);
  session.on("error", () => undefined);
  const closed = new Promise((resolve) => session.once("close", resolve));
  const attack = (): void => {
    if (session.destroyed || session.closed) return;
    for (let index = 0; index < 50; index++) {
      const stream = session.request({ ":path": "/" });
      stream.on("error", () => undefined);
      stream.close(http2.constants.NGHTTP2_CANCEL);
    }
    setImmediate(attack);
  };
  attack();

  await closed;
  proxy.backend("web");
  assert.equal((await ask(proxy.plane.httpPort)).status, 503);
});

test("streams that wait for a backend leave connections for others", async () => {
  const waiting: ServerResponse[] = [];
  const full = Promise.withResolvers<void>();
  await using backend = await openBackend((_request, response) => {
    if (waiting.push(response) === 3) full.resolve();
  });
  await using proxy = await openProxy({ requestLimits: { all: 4, perAddress: 3 } });
  proxy.serve([routeTo("web")]);
  proxy.backend("web", backend.port);
  const session = http2.connect(`http://127.0.0.1:${proxy.plane.httpPort}`);
  const statuses = Array.from({ length: 10 }, async () => {
    const [headers] = await once(session.request({ ":path": "/" }), "response");
    return headers[":status"];
  });
  await full.promise;

  assert.deepEqual(await Promise.all(statuses.slice(3)), Array(7).fill(503));
  assert.equal((await ask(proxy.plane.httpPort)).status, 503);
  for (const response of waiting) response.end();
  assert.deepEqual(await Promise.all(statuses.slice(0, 3)), [200, 200, 200]);
  assert.equal(backend.requests.length, 3);
  session.close();
});

test("a client that leaves takes its request to the backend with it", async () => {
  const arrived = Promise.withResolvers<void>();
  const left = Promise.withResolvers<void>();
  await using backend = await openBackend((_request, response) => {
    response.once("close", () => left.resolve());
    arrived.resolve();
  });
  await using proxy = await openProxy();
  proxy.serve([routeTo("web")]);
  proxy.backend("web", backend.port);

  const socket = net.connect(proxy.plane.httpPort, "127.0.0.1");
  socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  await arrived.promise;
  socket.destroy();

  await left.promise;
});

test("a backend that sends nonsense is answered for", async () => {
  const server = net.createServer((socket) => {
    socket.on("error", () => undefined);
    socket.end("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  await using proxy = await openProxy();
  proxy.serve([routeTo("web")]);
  proxy.backend("web", (server.address() as net.AddressInfo).port);

  assert.equal((await ask(proxy.plane.httpPort, { method: "POST" })).status, 502);
  server.close();
});
