import assert from "node:assert/strict";
import { once } from "node:events";
import http from "node:http";
import http2 from "node:http2";
import net from "node:net";
import { test } from "node:test";
import tls from "node:tls";
import { planCors } from "../routing/cors.ts";
import { ask, ca, echo, openBackend, openProxy, routeTo } from "./proxy.suite.ts";

test("a request reaches its backend with what the proxy knows of the client, and nothing that the client claims", async () => {
  await using backend = await openBackend(echo);
  await using proxy = await openProxy();
  proxy.serve([routeTo("web")]);
  proxy.backend("web", backend.port);

  const headers = {
    host: "shop.example",
    "x-forwarded-for": "10.9.9.9",
    forwarded: "for=10.9.9.9",
    connection: "keep-alive, x-secret, authorization",
    "x-secret": "1",
    authorization: "kept",
    "x-kept": "yes",
  };
  const answer = await ask(proxy.plane.httpPort, { path: "/a/../b?x=1", headers });

  const seen = JSON.parse(answer.text);
  assert.equal(answer.status, 200);
  assert.equal(seen.url, "/b?x=1");
  assert.equal(seen.headers.host, "shop.example");
  assert.equal(seen.headers["x-forwarded-for"], "127.0.0.1");
  assert.equal(seen.headers["x-forwarded-proto"], "http");
  assert.equal(seen.headers["x-forwarded-port"], String(proxy.plane.httpPort));
  assert.equal(seen.headers.authorization, "kept");
  assert.equal(seen.headers["x-kept"], "yes");
  assert.equal(seen.headers.forwarded, undefined);
  assert.equal(seen.headers["x-secret"], undefined);
});

test("without a route the answer is 404, and without an endpoint 503", async () => {
  await using proxy = await openProxy();
  proxy.serve([routeTo("web", {}, { host: "a.example" })]);
  proxy.plane.setBackend("web", {
    endpoints: [],
    isHttp2: false,
    fault: "service a/web has no endpoints that are ready",
  });

  const other = await ask(proxy.plane.httpPort, { headers: { host: "b.example" } });
  const none = await ask(proxy.plane.httpPort, { headers: { host: "a.example" } });

  assert.equal(other.status, 404);
  assert.equal(none.status, 503);
  assert.deepEqual(proxy.faults, ["service a/web has no endpoints that are ready"]);
});

test("a dead endpoint is left for a living one, also with a body", async () => {
  await using backend = await openBackend((request, response) => request.pipe(response));
  await using gone = await openBackend(echo);
  await gone[Symbol.asyncDispose]();
  await using proxy = await openProxy();
  proxy.serve([routeTo("web")]);
  proxy.backend("web", gone.port, backend.port);

  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) => ask(proxy.plane.httpPort, { method: "POST", body: `body ${index}` })),
  );

  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
  assert.equal(answers[7]?.text, "body 7");
});

test("a request that might have had an effect is not sent twice", async () => {
  await using broken = await openBackend((request) => request.socket.destroy());
  await using proxy = await openProxy();
  proxy.serve([routeTo("web")]);
  proxy.backend("web", broken.port);

  const post = await ask(proxy.plane.httpPort, { method: "POST", body: "pay" });

  assert.equal(post.status, 502);
  assert.equal(broken.requests.length, 1);
});

test("bodies stream in both directions at the same time", async () => {
  await using backend = await openBackend((request, response) => void request.pipe(response));
  await using proxy = await openProxy();
  proxy.serve([routeTo("web")]);
  proxy.backend("web", backend.port);

  const request = http.request({ port: proxy.plane.httpPort, host: "127.0.0.1", method: "POST", agent: false });
  request.write("one");
  const [response] = (await once(request, "response")) as [http.IncomingMessage];
  const [first] = await once(response, "data");
  request.write("two");
  const [second] = await once(response, "data");
  request.end();
  await once(response, "end");

  assert.deepEqual([String(first), String(second)], ["one", "two"]);
});

test("large bodies arrive whole", async () => {
  const large = Buffer.alloc(8 << 20, "x").toString();
  await using backend = await openBackend((request, response) => void request.pipe(response));
  await using proxy = await openProxy();
  proxy.serve([routeTo("web")]);
  proxy.backend("web", backend.port);

  const answer = await ask(proxy.plane.httpPort, { method: "PUT", body: large });

  assert.equal(answer.text.length, large.length);
});

test("an answer that breaks off is not passed on as a whole one", async () => {
  await using backend = await openBackend((_request, response) => {
    response.writeHead(200, { "content-length": "100" });
    response.write("half");
    setImmediate(() => response.destroy());
  });
  await using proxy = await openProxy();
  proxy.serve([routeTo("web")]);
  proxy.backend("web", backend.port);

  await assert.rejects(ask(proxy.plane.httpPort));
});

test("requests in progress survive new routes, and endpoints that leave", async () => {
  const held = Promise.withResolvers<http.ServerResponse>();
  await using old = await openBackend((_request, response) => {
    response.writeHead(200);
    response.write("begun ");
    held.resolve(response);
  });
  await using next = await openBackend(echo);
  await using proxy = await openProxy();
  proxy.serve([routeTo("web")]);
  proxy.backend("web", old.port);

  const early = ask(proxy.plane.httpPort);
  const response = await held.promise;
  proxy.backend("web", next.port);
  proxy.serve([routeTo("web", {}, { path: { type: "exact", value: "/new" } })]);
  const late = await ask(proxy.plane.httpPort, { path: "/new" });
  response.end("and ended");

  assert.equal((await early).text, "begun and ended");
  assert.equal(late.status, 200);
  assert.equal(old.requests.length, 1);
});

test("TLS serves the certificate of the host, over HTTP/2 and HTTP/1.1", async () => {
  await using backend = await openBackend(echo);
  await using proxy = await openProxy();
  proxy.serve([routeTo("web")], ["a.example", "b.example"]);
  proxy.backend("web", backend.port);

  for (const host of ["a.example", "b.example"]) {
    const session = http2.connect(`https://${host}`, {
      createConnection: () =>
        tls.connect({ port: proxy.plane.httpsPort, host: "127.0.0.1", servername: host, ca, ALPNProtocols: ["h2"] }),
    });
    const stream = session.request({ ":path": "/x" });
    let text = "";
    for await (const part of stream) text += part;
    session.close();
    const seen = JSON.parse(text);
    assert.match(seen.headers.host, new RegExp(`^${host}`));
    assert.equal(seen.headers["x-forwarded-proto"], "https");
  }
  const socket = tls.connect({ port: proxy.plane.httpsPort, host: "127.0.0.1", servername: "a.example", ca });
  socket.write("GET /old HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n");
  let text = "";
  for await (const part of socket) text += part;
  assert.match(text, /^HTTP\/1.1 200 /);
});

test("a TLS connection for one host cannot be used for another, and an unknown host gets none", async () => {
  await using backend = await openBackend(echo);
  await using proxy = await openProxy();
  proxy.serve([routeTo("web")], ["a.example", "b.example"]);
  proxy.backend("web", backend.port);
  const to = { port: proxy.plane.httpsPort, host: "127.0.0.1", ca };

  const socket = tls.connect({ ...to, servername: "a.example" });
  socket.write("GET / HTTP/1.1\r\nHost: b.example\r\nConnection: close\r\n\r\n");
  let text = "";
  for await (const part of socket) text += part;
  const unknown = tls.connect({ ...to, servername: "c.example" });
  const [error] = await once(unknown, "error");

  assert.match(text, /^HTTP\/1.1 421 /);
  assert.ok(error instanceof Error);
  assert.equal(backend.requests.length, 0);
});

test("HTTP/2 without TLS works for clients that know it", async () => {
  await using backend = await openBackend(echo);
  await using proxy = await openProxy();
  proxy.serve([routeTo("web")]);
  proxy.backend("web", backend.port);

  const session = http2.connect(`http://127.0.0.1:${proxy.plane.httpPort}`);
  const stream = session.request({ ":path": "/x", ":authority": "a.example", ":method": "POST" });
  stream.end("body");
  let text = "";
  for await (const part of stream) text += part;
  session.close();

  assert.equal(JSON.parse(text).headers.host, "a.example");
});

test("HTTP/2 backends and their trailers work, as gRPC needs", async () => {
  const backend = http2.createServer();
  backend.on("stream", (stream: http2.ServerHttp2Stream, headers) => {
    stream.respond(
      { ":status": 200, "content-type": "application/grpc", "x-te": headers.te },
      { waitForTrailers: true },
    );
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    stream.pipe(stream);
  });
  await new Promise<void>((resolve) => backend.listen(0, "127.0.0.1", resolve));
  await using proxy = await openProxy();
  proxy.serve([routeTo("grpc", { isGrpc: true })]);
  proxy.backend("grpc", (backend.address() as net.AddressInfo).port);

  const session = http2.connect(`http://127.0.0.1:${proxy.plane.httpPort}`);
  const stream = session.request({ ":path": "/s/M", ":method": "POST", te: "trailers" });
  stream.write("ping");
  const [head] = await once(stream, "response");
  const trailers = once(stream, "trailers");
  stream.end();
  let text = "";
  for await (const part of stream) text += part;
  const [sent] = await trailers;
  session.close();

  assert.equal(head["x-te"], "trailers");
  assert.equal(text, "ping");
  assert.equal(sent["grpc-status"], "0");
  backend.close();
});

test("an upgraded connection carries bytes both ways", async () => {
  await using backend = await openBackend(echo);
  backend.server.on("upgrade", (request, socket) => {
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: ${request.headers.upgrade}\r\nConnection: upgrade\r\n\r\n`,
    );
    socket.pipe(socket);
  });
  await using proxy = await openProxy();
  proxy.serve([routeTo("web")]);
  proxy.backend("web", backend.port);

  const request = http.request({
    ...{ port: proxy.plane.httpPort, host: "127.0.0.1", agent: false },
    headers: { connection: "Upgrade", upgrade: "websocket", "sec-websocket-key": "a" },
  });
  request.end();
  const [response, socket] = (await once(request, "upgrade")) as [http.IncomingMessage, net.Socket];
  socket.write("hello");
  const [echoed] = await once(socket, "data");
  socket.destroy();

  assert.equal(response.headers.upgrade, "websocket");
  assert.equal(String(echoed), "hello");
});

test("a backend that refuses an upgrade answers as usual", async () => {
  await using backend = await openBackend((_request, response) => void response.writeHead(403).end("no"));
  await using proxy = await openProxy();
  proxy.serve([routeTo("web")]);
  proxy.backend("web", backend.port);

  const answer = await ask(proxy.plane.httpPort, { headers: { connection: "Upgrade", upgrade: "websocket" } });

  assert.equal(answer.status, 403);
  assert.equal(answer.text, "no");
});

test("changes of headers, hosts and paths apply, and redirects need no backend", async () => {
  await using backend = await openBackend(echo);
  await using proxy = await openProxy();
  const change = {
    request: { set: [{ name: "x-set", value: "1" }], add: [{ name: "x-add", value: "2" }], remove: ["x-gone"] },
    response: { set: [{ name: "x-answer", value: "3" }], add: [], remove: ["content-type"] },
    host: "inner.example",
    path: { type: "prefix" as const, value: "/v2" },
  };
  const redirect = { type: "redirect" as const, status: 301, scheme: "https", port: 8443 };
  proxy.serve([
    routeTo("web", { change }, { path: { type: "prefix", value: "/api" } }),
    { ...routeTo("web"), path: { type: "prefix", value: "/old" }, action: redirect },
  ]);
  proxy.backend("web", backend.port);

  const changed = await ask(proxy.plane.httpPort, { path: "/api/x?q", headers: { "x-gone": "1", host: "a.example" } });
  const moved = await ask(proxy.plane.httpPort, { path: "/old/x?q", headers: { host: "a.example" } });

  const seen = JSON.parse(changed.text);
  assert.equal(seen.url, "/v2/x?q");
  assert.equal(seen.headers.host, "inner.example");
  assert.equal(seen.headers["x-set"], "1");
  assert.equal(seen.headers["x-add"], "2");
  assert.equal(seen.headers["x-gone"], undefined);
  assert.equal(changed.headers["x-answer"], "3");
  assert.equal(changed.headers["content-type"], undefined);
  assert.equal(moved.status, 301);
  assert.equal(moved.headers.location, "https://a.example:8443/old/x?q");
});

test("pages of other sites may do what the route says, whatever the backend says", async () => {
  await using backend = await openBackend((request, response) => {
    response.setHeader("access-control-allow-origin", "*");
    response.setHeader("vary", "Accept");
    echo(request, response);
  });
  await using proxy = await openProxy();
  const cors = planCors({ allowOrigins: ["https://*.example"], allowMethods: ["PUT"], exposeHeaders: ["x-one"] });
  proxy.serve([routeTo("web", { cors })]);
  proxy.backend("web", backend.port);
  const from = (origin: string, method = "GET") =>
    ask(proxy.plane.httpPort, { method, headers: { origin, "access-control-request-method": "PUT" } });

  const [permitted, friend, stranger] = [
    await from("https://a.example", "OPTIONS"),
    await from("https://a.example"),
    await from("https://evil.test"),
  ];

  assert.equal(permitted.status, 204);
  assert.equal(permitted.headers["access-control-allow-origin"], "https://a.example");
  assert.equal(permitted.headers["access-control-allow-methods"], "PUT");
  assert.deepEqual(
    backend.requests.map(({ method }) => method),
    ["GET", "GET"],
  );
  assert.equal(friend.headers["access-control-allow-origin"], "https://a.example");
  assert.equal(friend.headers["access-control-expose-headers"], "x-one");
  assert.equal(friend.headers.vary, "Accept, Origin");
  assert.equal(stranger.status, 200);
  assert.equal(stranger.headers["access-control-allow-origin"], undefined);
});

test("a backend that is late is answered for", async () => {
  await using backend = await openBackend(() => undefined);
  await using proxy = await openProxy();
  proxy.serve([routeTo("web", { backendTimeoutMs: 20 })]);
  proxy.backend("web", backend.port);

  assert.equal((await ask(proxy.plane.httpPort)).status, 504);
});

test("closing waits for the requests in progress", async () => {
  const held = Promise.withResolvers<http.ServerResponse>();
  await using backend = await openBackend((_request, response) => held.resolve(response));
  const proxy = await openProxy();
  proxy.serve([routeTo("web")]);
  proxy.backend("web", backend.port);

  const asked = ask(proxy.plane.httpPort);
  const response = await held.promise;
  const closed = proxy[Symbol.asyncDispose]();
  response.end("done");

  assert.equal((await asked).text, "done");
  await closed;
});
