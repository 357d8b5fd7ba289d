import assert from "node:assert/strict";
import { once } from "node:events";
import http from "node:http";
import https from "node:https";
import net, { type AddressInfo } from "node:net";
import { after, before, suite, test } from "node:test";
import { Node } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import { ServiceAccount } from "#api/core/service-account.ts";
import { type UserInfo } from "#api/exchange.ts";
import { type AssembledServer, assembleApiServer } from "#cluster/api-server.ts";
import { bootstrapCluster } from "#cluster/bootstrap.ts";
import { systemClock } from "#lib/async/clock.ts";
import { signingKey } from "#lib/crypto/jwt.ts";
import { createAuthority, createCertificate, createKey, type KeyPair, keyToPem } from "#lib/crypto/x509.ts";
import { systemRandom } from "#lib/data/random.ts";
import { primaryAddress } from "#lib/net/ip.ts";
import { type Log, type LogFields, silentLog } from "#lib/process/log.ts";
import { openMemoryStore } from "#store/memory.ts";
import { type Store } from "#store/store.ts";
import { streamEndpoints } from "./all.ts";

const logged: unknown[] = [];
const note = (level: string) => (message: string, fields?: LogFields) =>
  void logged.push({ level, message, ...fields });
const log: Log = { ...silentLog, info: note("info"), error: note("error"), with: () => log };
const base = { clock: systemClock, log };
const admin: UserInfo = { name: "admin", groups: ["system:masters"] };
const podIp = primaryAddress() ?? "";
const yearMs = 365 * 86_400_000;
const validity = { notBeforeMs: Date.now() - 3_600_000, notAfterMs: Date.now() + yearMs };

/** A pod at this machine's own address, what it serves, and what a listener at loopback receives. */
suite("the proxy to pods and nodes", { timeout: 120_000, skip: podIp === "" && "this machine has no address" }, () => {
  const authority = createAuthority({ subject: { commonName: "ca" }, ...validity });
  const store = openMemoryStore(base);
  let api: AssembledServer;
  let port = 0;
  let secretPort = 0;
  let secretConnections = 0;
  let seen: http.IncomingMessage | undefined;
  const secret = net.createServer((socket) => {
    secretConnections++;
    socket.end("HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nsecret");
  });
  const pod = http.createServer((request, response) => {
    seen = request;
    if (request.url === "/hints") return flood(request.socket);
    if (request.url === "/away") {
      response.writeHead(302, { location: `http://127.0.0.1:${secretPort}/` }).end();
      return;
    }
    if (request.url === "/page") response.writeHead(200, { "content-type": "text/html" }).end('<a href="/x">');
    else if (request.url === "/large") {
      response.writeHead(200, { "content-type": "text/html" }).end('<a href="/x">'.repeat(100_000));
    } else response.writeHead(200, { "content-type": "text/plain" }).end("hello");
  });

  before(async () => {
    pod.listen(0, podIp);
    secret.listen(0, "127.0.0.1");
    await Promise.all([once(pod, "listening"), once(secret, "listening")]);
    port = (pod.address() as AddressInfo).port;
    secretPort = (secret.address() as AddressInfo).port;
    api = await startApi(store, authority);
    const client = api.clientFor(admin);
    const created = await client.create(Pod, {
      metadata: { name: "web", namespace: "default" },
      spec: { containers: [{ name: "main", image: "i", ports: [{ name: "web", containerPort: port }] }] },
    });
    await client.updateStatus(Pod, {
      ...created,
      status: { ...created.status, podIP: podIp, podIPs: [{ ip: podIp }] },
    });
    await addNode({ name: "one", address: podIp, port });
  });
  after(async () => {
    for (const server of [pod, secret]) server.close();
    pod.closeAllConnections();
    await api[Symbol.asyncDispose]();
    await store[Symbol.asyncDispose]();
  });

  async function addNode({ name, address, port }: { name: string; address: string; port: number }): Promise<void> {
    const client = api.clientFor(admin);
    const node = await client.create(Node, { metadata: { name } });
    const status = {
      addresses: [{ type: "InternalIP", address }],
      daemonEndpoints: { kubeletEndpoint: { Port: port } },
    };
    await client.updateStatus(Node, { ...node, status });
  }

  const askPod = (name: string, path = "/", headers: Record<string, string> = {}): Promise<Answered> =>
    get(`/api/v1/namespaces/default/pods/${encodeURIComponent(name)}/proxy${path}`, headers);

  interface Answered {
    readonly status: number;
    readonly text: string;
    readonly headers: Readonly<Record<string, unknown>>;
  }

  async function get(path: string, headers: Record<string, string> = {}, body?: Uint8Array): Promise<Answered> {
    const { wire, ...served } = await api.server.serve({
      method: body ? "POST" : "GET",
      path,
      query: "",
      headers,
      body,
      signal: AbortSignal.timeout(60_000),
      peer: { address: "192.0.2.7", user: admin },
    });
    if (wire.type === "body") {
      return { status: wire.status, text: Buffer.concat(wire.chunks).toString(), headers: served.headers };
    }
    assert(wire.type === "stream");
    const chunks = await Array.fromAsync(wire.body);
    return { status: wire.status, text: Buffer.concat(chunks).toString(), headers: wire.headers ?? {} };
  }

  for (const name of ["web", `web:PORT`, `http:web:PORT`]) {
    test(`reaches the pod as ${name}`, async () => {
      const { status, text } = await askPod(name.replace("PORT", String(port)));

      assert.deepEqual([status, text], [200, "hello"]);
    });
  }

  const smuggled = ["x@127.0.0.1:SECRET", "x@127.0.0.1", "SECRET@127.0.0.1", "80/@127.0.0.1:SECRET", "80#@127.0.0.1"];
  for (const text of smuggled.flatMap((port) => [`web:${port}`, `http:web:${port}`, `https:web:${port}`])) {
    test(`does not use the port of ${text} as an address`, async () => {
      const name = text.replace("SECRET", String(secretPort));

      const answers = [
        await askPod(name),
        await get(`/api/v1/nodes/${encodeURIComponent(name.replace("web", "one"))}/proxy/`),
        await get(`/api/v1/namespaces/default/services/${encodeURIComponent(name)}/proxy/`),
      ];

      assert.deepEqual(
        answers.map(({ status }) => status),
        [400, 400, 400],
      );
      assert.equal(secretConnections, 0);
    });
  }

  test("does not follow redirects", async () => {
    const { status, headers } = await askPod("web", "/away");

    assert.equal(status, 302);
    assert.equal(headers.location, `http://127.0.0.1:${secretPort}/`);
    assert.equal(secretConnections, 0);
  });

  test("does not pass on the client's identity and connection headers", async () => {
    const { status } = await askPod("web", "/", {
      authorization: "Bearer t",
      "impersonate-user": "other",
      "impersonate-group": "system:masters",
      "impersonate-extra-x": "y",
      "x-remote-user": "root",
      "sec-websocket-protocol": "v4, base64url.bearer.authorization.k8s.io.dA",
      connection: "close, x-secret",
      "x-secret": "1",
      "proxy-authorization": "Basic x",
      te: "trailers",
      "x-mine": "kept",
    });

    assert.equal(status, 200);
    const { headers } = seen ?? assert.fail("the pod saw nothing");
    const gone = [
      "authorization",
      "impersonate-user",
      "impersonate-group",
      "impersonate-extra-x",
      "x-remote-user",
      "x-secret",
      "te",
    ];
    for (const name of [...gone, "proxy-authorization"]) assert.equal(headers[name], undefined, name);
    assert.equal(headers["sec-websocket-protocol"], "v4");
    assert.deepEqual([headers["x-mine"], headers["x-forwarded-for"]], ["kept", "192.0.2.7"]);
  });

  test("gives up on a pod that sends endless interim responses", async () => {
    const { status, text } = await askPod("web", "/hints");

    assert.equal(status, 503);
    assert.match(text, /too many 1xx informational responses/);
  });

  test("passes on a body with its request, and not the upgrade that was asked for beside it", async () => {
    const headers = { connection: "Upgrade", upgrade: "websocket" };

    const { status } = await get("/api/v1/namespaces/default/pods/web/proxy/x", headers, Buffer.from("hello"));

    assert.equal(status, 200);
    assert.deepEqual([seen?.method, seen?.headers.upgrade, seen?.headers["content-length"]], ["POST", undefined, "5"]);
  });

  test("tells of a pod that does not answer in one short line", async () => {
    logged.length = 0;

    await askPod("web", "/hints");

    const [line] = logged as { path: string; error: string }[];
    assert.match(line?.error ?? "", /^error trying to reach service: .*1xx/);
    const path = line?.path;
    assert.deepEqual(logged, [
      { level: "info", message: "a pod, node or webhook did not answer", path, method: "GET", error: line?.error },
    ]);
  });

  test("rewrites the links of pages, and passes on large pages unchanged", async () => {
    assert.match((await askPod("web", "/page")).text, /^<a href="\/api\/v1\/.*\/proxy\/x">$/);
    assert.equal((await askPod("web", "/large")).text, '<a href="/x">'.repeat(100_000));
  });

  for (const commonName of ["kube-apiserver", "system:node:other"]) {
    test(`sends nothing to a node's server with the certificate of ${commonName}`, async () => {
      const name = `node-of-${commonName.replaceAll(":", "-")}`;
      const subject = { commonName };
      const pair = createCertificate(authority, { subject, use: "server", hosts: ["127.0.0.1"], ...validity });
      await using server = await startNodeServer(pair);
      await addNode({ name, address: "127.0.0.1", port: server.port });

      const { status, text } = await get(`/api/v1/nodes/${name}/proxy/healthz`);

      assert.equal(status, 503);
      assert.match(text, /the certificate is for .* not for/);
      assert.equal(server.requests(), 0);
    });
  }

  test("does not proxy to other ports of a node whose address is this machine's loopback", async () => {
    await addNode({ name: "loop", address: "127.0.0.1", port: 1 });

    const { status, text } = await get(`/api/v1/nodes/loop:${secretPort}/proxy/`);

    assert.equal(status, 400);
    assert.match(text, /address not allowed/);
    assert.equal(secretConnections, 0);
  });
});

/** Sends interim responses until the other side closes. */
function flood(socket: net.Socket): void {
  const block = "HTTP/1.1 103 Early Hints\r\n\r\n".repeat(100);
  const more = () => {
    while (!socket.destroyed && socket.write(block));
  };
  socket.on("error", () => {});
  socket.on("drain", more);
  more();
}

async function startApi(store: Store, authority: KeyPair): Promise<AssembledServer> {
  const pair = createCertificate(authority, { subject: { commonName: "towards-nodes" }, use: "client", ...validity });
  const node = { key: pair.key, cert: pair.certificate, ca: authority.certificate };
  const api = await assembleApiServer({
    ...base,
    store,
    random: systemRandom,
    signingKey: signingKey(keyToPem(createKey())),
    serverAddress: "127.0.0.1:0",
    subresources: (deps) => streamEndpoints({ ...deps, ...base, node: () => node }),
  });
  const client = api.clientFor(admin);
  await bootstrapCluster(client);
  await client.create(ServiceAccount, { metadata: { name: "default", namespace: "default" } });
  return api;
}

async function startNodeServer({ key, certificate: cert }: KeyPair) {
  let requests = 0;
  const server = https.createServer({ key, cert }, (_, response) => {
    requests++;
    response.end("ok");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    requests: () => requests,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}
