import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import https from "node:https";
import net from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, suite, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { type TLSSocket } from "node:tls";
import { TokenReview } from "#api/authentication/token-review.ts";
import { Pod } from "#api/core/pod.ts";
import { badRequest, notFound } from "#api/status.ts";
import { type Client } from "#client/client.ts";
import { createAuthority, createCertificate, type KeyPair } from "#lib/crypto/x509.ts";
import { silentLog } from "#lib/process/log.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { apiServerName, nodeAccess } from "./access.ts";
import { type ContainerLogOptions, type KubeletHandle, type NodeStats, noCounts } from "./handle.ts";
import { CpuRates, renderResourceMetrics, renderSummary } from "./render-stats.ts";
import { type KubeletServer, startKubeletServer } from "./server.ts";

const usage = {
  atMs: 1_700_000_000_000,
  cpuNanoSeconds: 2_500_000_000,
  memoryUsageBytes: 300,
  memoryWorkingSetBytes: 200,
  memoryRssBytes: 100,
};
const stats: NodeStats = {
  name: "one",
  startedMs: 0,
  usage,
  memoryCapacityBytes: 1000,
  pods: [
    {
      name: "web",
      namespace: "default",
      uid: "u",
      startedMs: 1000,
      usage,
      containers: [{ name: "main", startedMs: 2000, usage, rootfs: { atMs: 0, usedBytes: 7, inodesUsed: 1 } }],
    },
  ],
};

test("renderResourceMetrics() has the node, pods and containers with timestamps", () => {
  const lines = renderResourceMetrics(stats).split("\n");

  for (const line of [
    "node_cpu_usage_seconds_total 2.5 1700000000000",
    'pod_memory_working_set_bytes{namespace="default",pod="web"} 200 1700000000000',
    'container_cpu_usage_seconds_total{container="main",namespace="default",pod="web"} 2.5 1700000000000',
    'container_start_time_seconds{container="main",namespace="default",pod="web"} 2',
    "resource_scrape_error 0",
  ]) {
    assert(lines.includes(line), line);
  }
});

test("renderSummary() has the CPU rate from the second sample on", () => {
  const rates = new CpuRates();
  const read = (one: NodeStats) => JSON.parse(JSON.stringify(renderSummary(one, rates)));
  const later = { ...usage, atMs: usage.atMs + 2000, cpuNanoSeconds: usage.cpuNanoSeconds + 1_000_000_000 };

  const first = read(stats);
  const second = read({ ...stats, usage: later });
  const again = read({ ...stats, usage: later });

  assert.equal(first.node.cpu.usageNanoCores, undefined);
  assert.equal(first.node.memory.availableBytes, 800);
  assert.deepEqual(first.pods[0].podRef, { name: "web", namespace: "default", uid: "u" });
  assert.equal(first.pods[0].containers[0].rootfs.usedBytes, 7);
  assert.equal(second.node.cpu.usageNanoCores, 500_000_000);
  assert.equal(again.node.cpu.usageNanoCores, 500_000_000);
});

suite("the node's server", () => {
  const validity = { notBeforeMs: 0, notAfterMs: 4e12 };
  const authority = createAuthority({ subject: { commonName: "ca" }, ...validity });
  const certify = (commonName: string, use: "server" | "client"): KeyPair =>
    createCertificate(authority, { subject: { commonName }, use, hosts: ["127.0.0.1"], ...validity });
  const serving = certify("system:node:one", "server");
  const clock = createVirtualClock();
  let server: KubeletServer;
  let logDir = "";
  let asked: ContainerLogOptions | undefined;
  const left = Promise.withResolvers<string>();

  const handle: KubeletHandle = {
    nodeName: "one",
    async *logs(ref, container, options) {
      asked = options;
      if (ref.name === "none") throw notFound(Pod, ref.name);
      if (container === "bad") throw new Error("no log here");
      yield Buffer.from("line\n");
      if (!options.follow) return;
      await new Promise((resolve) => options.signal.addEventListener("abort", resolve));
      left.resolve(`${ref.namespace}/${ref.name}`);
    },
    execUrl: () => Promise.reject(badRequest("not running")),
    attachUrl: () => Promise.reject(new Error("broken")),
    portForwardUrl: () => Promise.reject(new Error("broken")),
    run: async () => ({ stdout: Buffer.from("out"), stderr: Buffer.from("err"), exitCode: 1 }),
    pods: () => [],
    counts: () => noCounts,
    checkpoint: () => Promise.reject(new Error("no criu")),
    stats: async () => stats,
  };

  before(async () => {
    const { key, certificate: cert } = serving;
    const clientCa = authority.certificate;
    logDir = await mkdtemp(path.join(tmpdir(), "orlop-logs-"));
    await mkdir(path.join(logDir, "<b>"));
    await writeFile(path.join(logDir, "syslog"), "a line\n");
    await symlink("/etc/passwd", path.join(logDir, "out"));
    await symlink("syslog", path.join(logDir, "in"));
    const more = { logDir, configuration: { maxPods: 7 } };
    server = await startKubeletServer({ port: 0, key, cert, clientCa, handle, clock, log: silentLog, ...more });
  });
  after(async () => {
    await server[Symbol.asyncDispose]();
    await rm(logDir, { recursive: true });
  });

  const optionsAs = (who: string | undefined): https.RequestOptions => {
    const ca = authority.certificate;
    if (!who) return { ca, agent: false };
    const { key, certificate: cert } = certify(who, "client");
    return { ca, key, cert, agent: false };
  };
  const get = (
    path: string,
    options: https.RequestOptions = {},
    { port } = server,
  ): Promise<{ status: number; text: string }> =>
    new Promise((resolve, reject) => {
      const url = `https://127.0.0.1:${port}${path}`;
      const request = https.request(url, { ...optionsAs(apiServerName), ...options }, async (response) => {
        let text = "";
        for await (const chunk of response) text += String(chunk);
        resolve({ status: response.statusCode ?? 0, text });
      });
      request.once("error", reject).end();
    });

  const cases = [
    { path: "/healthz", status: 200, text: "ok" },
    { path: "/containerLogs/default/web/main", status: 200, text: "line\n" },
    { path: "/containerLogs/default/web/bad", status: 400, text: "no log here" },
    { path: "/containerLogs/default/none/main", status: 404, text: 'pods "none" not found' },
    { path: "/containerLogs/default", status: 400, text: "the path must name a namespace, a pod and a container" },
    { path: "/containerLogs/default/web/main?stream=x", status: 400, text: 'invalid stream type "x"' },
    { path: "/containerLogs/default/web/main?tailLines=x", status: 400, text: "tailLines must be a whole number" },
    { path: "/exec/default/web/main?command=id", status: 400, text: "Upgrade request required" },
    { path: "/no/such/path", status: 404, text: "404 page not found" },
    { path: "/stats/other", status: 404, text: "404 page not found" },
    { path: "/logs/syslog", status: 200, text: "a line\n" },
    { path: "/logs/in", status: 200, text: "a line\n" },
    { path: "/logs", status: 301, text: "" },
    { path: "/logs/out", status: 404, text: "404 page not found" },
    { path: "/logs/%2e%2e%2fetc%2fpasswd", status: 404, text: "404 page not found" },
    { path: "/logs/..%2f..%2fetc/passwd", status: 404, text: "404 page not found" },
    { path: "/logs/sys%00log", status: 404, text: "404 page not found" },
    { path: "/logs/syslog/more", status: 404, text: "404 page not found" },
    {
      path: "/logs/",
      status: 200,
      text: '<pre>\n<a href="./%3Cb%3E">&lt;b&gt;</a>\n<a href="./in">in</a>\n<a href="./out">out</a>\n<a href="./syslog">syslog</a>\n</pre>\n',
    },
    { path: "/configz", status: 200, text: '{"kubeletconfig":{"maxPods":7}}' },
    { path: "/metrics/other", status: 404, text: "404 page not found" },
    { path: "/metrics/toString", status: 404, text: "404 page not found" },
    { path: "/%zz", status: 400, text: 'the path segment "%zz" is not valid percent-encoding' },
  ];
  for (const { path, status, text } of cases) {
    test(`answers ${path} with ${status}`, async () => assert.deepEqual(await get(path), { status, text }));
  }

  test("serves metrics of itself, of containers and of probes", async () => {
    assert.match((await get("/metrics")).text, /^kubelet_node_name\{node="one"\} 1$/m);
    const containers = (await get("/metrics/cadvisor")).text;
    assert.match(containers, /^container_memory_working_set_bytes\{container="main",.*pod="web"\} 200$/m);
    assert.match((await get("/metrics/probes")).text, /^process_start_time_seconds /m);
  });

  test("saves the state of a container only on POST, and only of one that exists", async () => {
    assert.equal((await get("/checkpoint/default/web/main")).status, 405);
    const answer = await get("/checkpoint/default/web/main", { method: "POST" });
    assert.deepEqual(answer, { status: 404, text: "pod does not exist" });
  });

  test("passes on the options of a log request", async () => {
    await get("/containerLogs/default/web/main?tailLines=3&limitBytes=9&timestamps=true&sinceSeconds=5&stream=Stderr");

    const { signal: _, ...options } = asked ?? {};
    assert.deepEqual(options, {
      follow: false,
      previous: false,
      timestamps: true,
      tailLines: 3,
      limitBytes: 9,
      sinceMs: clock.now() - 5000,
      stream: "stderr",
    });
  });

  test("takes no body of an upgrade for the streams of a command", async () => {
    const headers = { connection: "Upgrade", upgrade: "SPDY/3.1", "content-length": "5" };
    const request = https.request(`https://127.0.0.1:${server.port}/exec/default/web/main?command=id`, {
      ...optionsAs(apiServerName),
      method: "POST",
      headers,
    });
    request.end("bytes");
    const [response] = (await once(request, "response")) as [IncomingMessage];
    response.resume();

    assert.equal(response.statusCode, 400);
  });

  test("refuses upgrades with plain text", async () => {
    const headers = { connection: "Upgrade", upgrade: "SPDY/3.1" };
    const query = "command=id&stdout=1";

    assert.deepEqual(await get(`/exec/default/web/main?${query}`, { headers }), { status: 400, text: "not running" });
    assert.deepEqual(await get(`/attach/default/web/main?${query}`, { headers }), { status: 500, text: "broken" });
    assert.match((await get("/exec/default/web/main?command=id", { headers })).text, /at least 1 of stdin, stdout/);
    assert.match((await get("/exec/default/web/main?stdout=1", { headers })).text, /at least 1 command/);
  });

  test("runs commands on POST", async () => {
    assert.equal((await get("/run/default/web/main?cmd=id")).status, 405);
    assert.deepEqual(await get("/run/default/web/main?cmd=id", { method: "POST" }), { status: 500, text: "outerr" });
  });

  test("serves the API server and no other certificate", async () => {
    assert.equal((await get("/pods", optionsAs("bob"))).status, 401);
    assert.equal((await get("/pods", { ...optionsAs(undefined), key: "", cert: "" })).status, 401);
    assert.equal((await get("/pods")).status, 200);
  });

  test("stops reading a log when the client disconnects", async () => {
    const url = `https://127.0.0.1:${server.port}/containerLogs/default/web/main?follow=true`;
    const request = https.get(url, optionsAs(apiServerName), (response) =>
      response.once("data", () => request.destroy()),
    );
    request.on("error", () => {});

    assert.equal(await left.promise, "default/web");
  });

  test("shows a renewed certificate to new connections, and keeps open ones", async () => {
    const agent = new https.Agent({ keepAlive: true, maxSockets: 1 });
    const who = optionsAs(apiServerName);
    const seen = () =>
      new Promise<unknown>((resolve, reject) => {
        const request = https.get(`https://127.0.0.1:${server.port}/healthz`, { ...who, agent }, (response) => {
          const socket = response.socket as TLSSocket;
          response.resume().on("end", () => resolve([socket.getPeerCertificate().serialNumber, request.reusedSocket]));
        });
        request.once("error", reject);
      });
    const serialOf = ({ certificate }: KeyPair): string => new X509Certificate(certificate).serialNumber;
    const renewed = certify("system:node:one", "server");
    await seen();

    server.renew({ key: renewed.key, cert: renewed.certificate, clientCa: authority.certificate });

    assert.deepEqual(await seen(), [serialOf(serving), true]);
    agent.destroy();
    assert.deepEqual(await seen(), [serialOf(renewed), false]);
    agent.destroy();
  });

  test("bounds the connections of unknown peers, but not those of the API server", async () => {
    const agent = new https.Agent({ keepAlive: true });
    const who = { ...optionsAs(apiServerName), agent };
    const ask = () => get("/healthz", who);
    await Promise.all(Array.from({ length: 20 }, ask)); // These stay open.

    const sockets = Array.from({ length: 260 }, () => net.connect({ port: server.port, host: "127.0.0.1" }));
    const closed = sockets.map((socket) => once(socket, "close").catch(() => {}));
    await Promise.race(closed);
    while (sockets.filter(({ closed }) => closed).length < 4) await setImmediate();

    assert.equal(sockets.filter(({ closed }) => closed).length, 4);
    assert.equal((await ask()).status, 200);
    assert.equal((await get("/healthz")).status, 200, "an older connection makes room for a new one");
    while (sockets.filter(({ closed }) => closed).length < 5) await setImmediate();
    assert.equal(sockets.filter(({ closed }) => closed).length, 5);
    for (const socket of sockets) socket.resetAndDestroy();
    await Promise.all(closed);
    agent.destroy();
  });

  test("does not wait for connections that never began their handshake", async () => {
    const { key, certificate: cert } = serving;
    const options = { port: 0, key, cert, clientCa: authority.certificate, handle, clock, log: silentLog };
    const other = await startKubeletServer(options);
    const silent = net.connect({ port: other.port, host: "127.0.0.1" });
    await once(silent, "connect");

    await other[Symbol.asyncDispose]();

    await once(silent, "close");
  });

  test("rejects an expired certificate, even on an open connection", async () => {
    await clock.advance(validity.notAfterMs - clock.now());

    assert.equal((await get("/pods")).status, 401);
  });

  test("a token that looks like somebody's certificate is still reviewed", async () => {
    // It knows no token, and allows everything to those whom it is asked about.
    const reviewer = {
      create: async (kind: unknown) => ({
        status: kind === TokenReview ? { authenticated: false } : { allowed: true },
      }),
    } as unknown as Client;
    const { key, certificate: cert } = serving;
    const access = nodeAccess("one", createVirtualClock(), reviewer);
    const more = { clientCa: authority.certificate, handle, clock, log: silentLog, access };
    await using reviewing = await startKubeletServer({ port: 0, key, cert, ...more });
    const authorization = 'Bearer {"commonName":"monitor","organizations":[]}';
    const stranger = { key: undefined, cert: undefined, headers: { authorization } };

    assert.equal((await get("/metrics", optionsAs("monitor"), reviewing)).status, 200);
    assert.equal((await get("/metrics", stranger, reviewing)).status, 401);
  });
});
