import assert from "node:assert/strict";
import { once } from "node:events";
import { type Socket } from "node:net";
import { test } from "node:test";
import { type TLSSocket } from "node:tls";
import { type TlsScope } from "../routing/tls-table.ts";
import { echo, openBackend, openProxy, routeTo } from "./proxy.suite.ts";
import { connect, scope, serveBytes, tlsRoute } from "./relay.suite.ts";

/** The certificate's name and what the server sends, until it ends. */
async function read(socket: TLSSocket): Promise<{ readonly certificate: string; readonly text: string }> {
  await once(socket, "secureConnect");
  const certificate = String(socket.getPeerCertificate().subject.CN);
  let text = "";
  // An iterator would destroy the socket at its end.
  socket.on("data", (part) => {
    text += part;
  });
  await once(socket, "end");
  return { certificate, text };
}

const answer = (socket: Socket) => socket.once("data", (data) => socket.end(`got ${data}`));

test("a connection is passed on with its TLS, and one for another host of the port ends here", async () => {
  await using db = await serveBytes(answer, "db.example");
  await using web = await openBackend(echo);
  await using proxy = await openProxy();
  proxy.serve([routeTo("web")], ["web.example"], [scope("db.example", tlsRoute("db.example"))]);
  proxy.backend("db", db.port);
  proxy.backend("web", web.port);

  const passed = connect(proxy.plane.httpsPort, "db.example", { ALPNProtocols: ["own"] });
  passed.write("hello");
  const ended = connect(proxy.plane.httpsPort, "web.example");
  ended.write("GET / HTTP/1.1\r\nHost: web.example\r\nConnection: close\r\n\r\n");

  const [answered, page] = await Promise.all([read(passed), read(ended)]);
  assert.deepEqual(answered, { certificate: "the backend", text: "got hello" });
  assert.equal(passed.alpnProtocol, "own");
  assert.equal(page.certificate, "web.example");
  assert.match(page.text, /^HTTP\/1\.1 200 /);
});

test("TLS of a route can end here, and the backend gets what was in it", async () => {
  const got = Promise.withResolvers<string>();
  await using db = await serveBytes((socket) => {
    socket.once("data", (data) => got.resolve(String(data)));
    answer(socket);
  });
  await using proxy = await openProxy();
  proxy.serve([], [], [scope("*.example", tlsRoute("db.example", { isTerminated: true }))]);
  proxy.backend("db", db.port);

  // The proxy chooses no protocol for a backend that it does not know.
  const socket = connect(proxy.plane.httpsPort, "db.example", { ALPNProtocols: ["own"] });
  socket.write("hello");

  assert.deepEqual(await read(socket), { certificate: "db.example", text: "got hello" });
  assert.equal(await got.promise, "hello");
});

for (const isTerminated of [false, true]) {
  test(`each side can end first while the other goes on, ${isTerminated ? "without" : "with"} TLS at the backend`, async () => {
    const take = (socket: Socket) => {
      let text = "";
      socket.on("data", (data) => {
        text += data;
        // The backend has said all, and still listens.
        if (text === "end first") socket.end("bye");
      });
      socket.once("end", () => (text === "end first, please" ? heard.resolve(text) : socket.end(`all of ${text}`)));
    };
    const heard = Promise.withResolvers<string>();
    await using db = await serveBytes(take, isTerminated ? undefined : "db.example");
    await using proxy = await openProxy();
    proxy.serve([], [], [scope("db.example", tlsRoute("db.example", { isTerminated }))]);
    proxy.backend("db", db.port);

    const first = connect(proxy.plane.httpsPort, "db.example", { allowHalfOpen: true });
    first.end("a question");
    assert.equal((await read(first)).text, "all of a question");

    first.destroy();
    const second = connect(proxy.plane.httpsPort, "db.example", { allowHalfOpen: true });
    second.write("end first");
    assert.equal((await read(second)).text, "bye");
    second.end(", please");
    assert.equal(await heard.promise, "end first, please");
    second.destroy();
  });
}

test("large streams arrive whole in both directions, at the pace of the slower side", async () => {
  const size = 4 << 20;
  await using db = await serveBytes((socket) => socket.pipe(socket), "db.example");
  await using proxy = await openProxy();
  proxy.serve([], [], [scope("db.example", tlsRoute("db.example"))]);
  proxy.backend("db", db.port);

  const socket = connect(proxy.plane.httpsPort, "db.example", { allowHalfOpen: true });
  socket.end(Buffer.alloc(size, "x"));

  assert.equal((await read(socket)).text.length, size);
});

test("open connections survive new routes, and new ones follow them", async () => {
  await using db = await serveBytes((socket) => socket.pipe(socket), "db.example");
  await using proxy = await openProxy();
  proxy.serve([], [], [scope("db.example", tlsRoute("db.example"))]);
  proxy.backend("db", db.port);

  const early = connect(proxy.plane.httpsPort, "db.example");
  await once(early, "secureConnect");
  proxy.serve([], []);
  proxy.backend("db");
  early.write("still here");
  const [data] = await once(early, "data");
  const late = connect(proxy.plane.httpsPort, "db.example");
  await once(late, "error");
  early.destroy();

  assert.equal(String(data), "still here");
});

const refusals: readonly { readonly name: string; readonly scope: TlsScope; readonly fault?: RegExp }[] = [
  { name: "without a route", scope: scope("*.example", tlsRoute("other.example")) },
  {
    name: "without a backend",
    scope: scope("db.example", tlsRoute("db.example", { backends: [] })),
    fault: /no backend/,
  },
  {
    name: "with a backend that was not resolved",
    scope: scope("db.example", tlsRoute("db.example", { backends: [{ key: undefined, weight: 1, fault: "gone" }] })),
    fault: /gone/,
  },
  { name: "with a dead endpoint", scope: scope("db.example", tlsRoute("db.example")), fault: /cannot be reached/ },
];
for (const { name, scope: one, fault } of refusals) {
  test(`a connection for a host ${name} is closed`, async () => {
    const gone = await serveBytes(answer);
    await gone[Symbol.asyncDispose]();
    await using proxy = await openProxy();
    proxy.serve([routeTo("web")], ["web.example"], [one]);
    proxy.backend("db", gone.port);

    const [error] = await once(connect(proxy.plane.httpsPort, "db.example"), "error");

    assert(error instanceof Error);
    assert.equal(proxy.faults.length, fault ? 1 : 0);
    if (fault) assert.match(proxy.faults[0] ?? "", fault);
  });
}

test("connections are shared by weight, and a dead endpoint is left for a living one", async () => {
  const counts = { one: 0, other: 0 };
  await using one = await serveBytes((socket) => void socket.end(`${counts.one++}`), "db.example");
  await using other = await serveBytes((socket) => void socket.end(`${counts.other++}`), "db.example");
  const gone = await serveBytes(answer);
  await gone[Symbol.asyncDispose]();
  await using proxy = await openProxy();
  const backends = [
    { key: "one", weight: 3 },
    { key: "other", weight: 1 },
    { key: "none", weight: 0 },
  ];
  proxy.serve([], [], [scope("", tlsRoute("*.example", { backends }))]);
  proxy.backend("one", gone.port, one.port);
  proxy.backend("other", other.port);

  for (let at = 0; at < 40; at++) await read(connect(proxy.plane.httpsPort, "db.example"));

  assert.equal(counts.one + counts.other, 40);
  assert(counts.one > counts.other && counts.other > 0, JSON.stringify(counts));
});

test("an HTTP/2 connection for one host cannot be used for a host whose connections are passed on", async () => {
  await using web = await openBackend(echo);
  await using proxy = await openProxy();
  proxy.serve([routeTo("web")], ["web.example"], [scope("db.example", tlsRoute("db.example"))]);
  proxy.backend("web", web.port);

  const socket = connect(proxy.plane.httpsPort, "web.example");
  socket.write("GET / HTTP/1.1\r\nHost: db.example\r\nConnection: close\r\n\r\n");

  assert.match((await read(socket)).text, /^HTTP\/1\.1 421 /);
  assert.equal(web.requests.length, 0);
});
