import assert from "node:assert/strict";
import { once } from "node:events";
import http from "node:http";
import http2 from "node:http2";
import { type AddressInfo } from "node:net";
import { after, before, suite, test } from "node:test";
import { Pod } from "#api/core/pod.ts";
import { systemClock } from "#lib/async/clock.ts";
import { neverAborted } from "#lib/async/tasks.ts";
import { build } from "#testing/build.ts";
import { freePort } from "#testing/peers/free-ports.ts";
import { firstVerdict, judge } from "./judge.ts";
import { type HttpCheck, realNetwork } from "./network.ts";
import { resolvePort } from "./run-probe.ts";

const limits = { clock: systemClock, timeoutMs: 60_000, signal: neverAborted };
const host = "127.0.0.1";

suite("probes of real servers", { timeout: 120_000 }, () => {
  let port: number;
  let grpcPort: number;
  let seen: http.IncomingHttpHeaders = {};
  const server = http.createServer((request, response) => {
    seen = request.headers;
    const path = request.url ?? "";
    if (path === "/slow") return;
    if (path === "/to-self") response.writeHead(302, { location: "/ok" }).end();
    else if (path === "/away") response.writeHead(302, { location: "http://example.com/" }).end("moved");
    else response.writeHead(path === "/ok" ? 200 : 503).end("body");
  });
  const health = http2.createServer();

  before(async () => {
    health.on("stream", (stream: http2.ServerHttp2Stream, headers) => {
      const status = headers[":path"] === "/grpc.health.v1.Health/Check" ? "0" : "12";
      stream.respond({ "content-type": "application/grpc" }, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": status }));
      // SERVING for the empty service, NOT_SERVING for any other.
      stream.once("data", (chunk: Buffer) => stream.end(Buffer.from([0, 0, 0, 0, 2, 8, chunk.length > 5 ? 2 : 1])));
    });
    for (const one of [server, health]) {
      one.listen(0, host);
      await once(one, "listening");
    }
    port = (server.address() as AddressInfo).port;
    grpcPort = (health.address() as AddressInfo).port;
  });
  after(() => {
    server.closeAllConnections();
    server.close();
    health.close();
  });

  const check = (path: string, more: Partial<HttpCheck> = {}): HttpCheck => ({
    host,
    port,
    path,
    scheme: "HTTP",
    headers: [],
    purpose: "probe",
    ...more,
  });

  test("http: a good answer to a request with the declared headers", async () => {
    const headers = [
      { name: "X-A", value: "1" },
      { name: "Host", value: "web.example" },
      { name: "Accept", value: "" },
      { name: "Constructor", value: "2" },
    ];

    const outcome = await realNetwork.http(check("/ok", { headers }), limits);

    assert.deepEqual(outcome, { result: "success", output: "body", status: 200 });
    assert.deepEqual(
      [seen["x-a"], seen.host, seen.accept, seen["user-agent"], seen.constructor],
      ["1", "web.example", undefined, "kube-probe/1.36", "2"],
    );
  });

  test("http: redirects on the same host are followed, others are a warning", async () => {
    assert.equal((await realNetwork.http(check("/to-self"), limits)).result, "success");
    const away = await realNetwork.http(check("/away"), limits);
    assert.deepEqual([away.result, away.output], ["warning", "Probe terminated redirects, Response body: moved"]);
  });

  test("http: a bad answer, a timeout, and a closed port", async () => {
    const bad = await realNetwork.http(check("/bad"), limits);
    const slow = await realNetwork.http(check("/slow"), { ...limits, timeoutMs: 50 });
    const closed = await freePort();
    const none = await realNetwork.http(check("/x", { port: closed }), limits);

    assert.equal(bad.output, "HTTP probe failed with statuscode: 503");
    assert.match(slow.output, /^Get "http:.*\/slow": context deadline exceeded \(Client\.Timeout/);
    assert.equal(
      none.output,
      `Get "http://${host}:${closed}/x": dial tcp ${host}:${closed}: connect: connection refused`,
    );
  });

  test("http: a plain HTTP server on an HTTPS probe is named in the error", async () => {
    const { output } = await realNetwork.http(check("/ok", { scheme: "HTTPS" }), limits);

    assert.match(output, /server gave HTTP response to HTTPS client$/);
  });

  test("tcp: an open and a closed port", async () => {
    assert.equal((await realNetwork.tcp({ host, port }, limits)).result, "success");
    const { result, output } = await realNetwork.tcp({ host, port: 1 }, limits);
    assert.deepEqual([result, output], ["failure", `dial tcp ${host}:1: connect: connection refused`]);
  });

  test("grpc: follows the health service", async () => {
    const good = await realNetwork.grpc({ host, port: grpcPort, service: "" }, limits);
    const bad = await realNetwork.grpc({ host, port: grpcPort, service: "other" }, limits);
    const none = await realNetwork.grpc({ host, port: 1, service: "" }, limits);

    assert.deepEqual(good, { result: "success", output: "service healthy" });
    assert.equal(bad.output, 'service unhealthy (responded with "NOT_SERVING")');
    assert.match(none.output, /^timeout: failed to connect service/);
  });
});

test("judge() changes its result when enough checks in a row agree", () => {
  const pod = build(Pod, {
    metadata: { name: "p" },
    spec: {
      containers: [
        { name: "c", image: "i", readinessProbe: { tcpSocket: { port: 1 }, successThreshold: 2, failureThreshold: 3 } },
      ],
    },
  });
  const probe = pod.spec.containers[0]?.readinessProbe;
  assert(probe);

  const results = ["success", "success", "failure", "failure", "success", "failure", "failure", "failure"] as const;
  let verdict = firstVerdict("readiness");
  const turned = results.map((outcome) => {
    verdict = judge(verdict, outcome, probe);
    return verdict.result;
  });

  assert.deepEqual(turned, ["failure", "success", "success", "success", "success", "success", "success", "failure"]);
});

test("resolvePort() accepts numbers and names", () => {
  const pod = build(Pod, {
    metadata: { name: "p" },
    spec: { containers: [{ name: "c", image: "i", ports: [{ name: "web", containerPort: 8080 }] }] },
  });
  const [container] = pod.spec.containers;
  assert(container);

  assert.deepEqual(
    [resolvePort(80, container), resolvePort("web", container), resolvePort("81", container)],
    [80, 8080, 81],
  );
  assert.throws(() => resolvePort("none", container), /couldn't find port: none/);
});
