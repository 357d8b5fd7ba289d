import assert from "node:assert/strict";
import { once } from "node:events";
import { type IncomingHttpHeaders } from "node:http";
import http2 from "node:http2";
import https from "node:https";
import { after, before, test } from "node:test";
import tls from "node:tls";
import { promisify } from "node:util";
import zlib from "node:zlib";
import { systemClock } from "#lib/async/clock.ts";
import { createAuthority, createCertificate } from "#lib/crypto/x509.ts";
import { type Log, silentLog } from "#lib/process/log.ts";
import { warningHeaders } from "#server/request/warnings.ts";
import { type Served } from "../server.ts";
import { type Wire } from "./respond.ts";
import { type Listening, type ListenOptions, listen } from "./serve.ts";
import { type WireRequest } from "./wire-request.ts";

const validity = { notBeforeMs: Date.now() - 60_000, notAfterMs: Date.now() + 3_600_000 };
const authority = createAuthority({ subject: { commonName: "test authority" }, ...validity });
const serving = createCertificate(authority, {
  subject: { commonName: "test" },
  use: "server",
  hosts: ["127.0.0.1"],
  ...validity,
});
const ca = authority.certificate;

const options: ListenOptions = {
  host: "127.0.0.1",
  port: 0,
  key: serving.key,
  cert: serving.certificate,
  ca,
  clock: systemClock,
  log: silentLog,
  peerOf: () => ({ address: "127.0.0.1" }),
};

let listening: Listening;
before(async () => {
  listening = await listen(serve, options);
});
after(() => listening[Symbol.asyncDispose]());

const odd = ["für 日本", 'quoted "x"'];
const large = Buffer.alloc(200_000, "orlop ");

/** Replaces the server: returns what it was asked. */
async function serve(request: WireRequest): Promise<Served> {
  await request.admit({ name: "jane", groups: [] }, { passesOn: false });
  const { headers, method, path, body } = request;
  const rest = {
    headers: { "audit-id": "1" },
    warnings: warningHeaders(odd),
    acceptEncoding: headers["accept-encoding"],
  };
  return { wire: wireFor(path, `${method} ${path} ${body?.length ?? 0}`), ...rest };
}

function wireFor(path: string, text: string): Wire {
  const contentType = "application/json";
  if (path === "/watch") {
    return {
      type: "watch",
      contentType,
      start(writer) {
        writer.write(Buffer.from("event\n"));
        writer.end();
        return () => {};
      },
    };
  }
  return { type: "body", status: 200, contentType, chunks: [path === "/large" ? large : Buffer.from(text)] };
}

interface Said {
  readonly status: number;
  readonly headers: IncomingHttpHeaders | http2.IncomingHttpHeaders;
  readonly body: Buffer;
}
interface Ask {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}
type Client = (path: string, ask?: Ask) => Promise<Said>;

function http1(agent: https.Agent): Client {
  return (path, { method = "GET", headers = {}, body } = {}) => {
    const { promise, resolve, reject } = Promise.withResolvers<Said>();
    const options = { host: "127.0.0.1", port: listening.port, path, method, headers, agent };
    const request = https.request(options, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }),
      );
    });
    request.on("error", reject);
    if (headers.expect) request.once("continue", () => request.end(body));
    else request.end(body);
    return promise;
  };
}

function overHttp2(session: http2.ClientHttp2Session): Client {
  return (path, { method = "GET", headers = {}, body } = {}) => {
    const { promise, resolve, reject } = Promise.withResolvers<Said>();
    const stream = session.request({ ":path": path, ":method": method, ...headers }, { endStream: body === undefined });
    let answered: http2.IncomingHttpHeaders = {};
    const chunks: Buffer[] = [];
    stream.on("response", (response) => (answered = response));
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.on("end", () =>
      resolve({ status: Number(answered[":status"]), headers: answered, body: Buffer.concat(chunks) }),
    );
    stream.on("error", reject);
    if (headers.expect) stream.once("continue", () => stream.end(body));
    else if (body !== undefined) stream.end(body);
    return promise;
  };
}

async function withClients(use: (client: Client, version: string) => Promise<void>): Promise<void> {
  const agent = new https.Agent({ ca, keepAlive: true });
  const session = http2.connect(`https://127.0.0.1:${listening.port}`, { ca });
  try {
    await use(http1(agent), "HTTP/1.1");
    await use(overHttp2(session), "HTTP/2");
  } finally {
    agent.destroy();
    session.destroy();
  }
}

test("a HEAD has the headers of a GET and no body", async () => {
  await withClients(async (client, version) => {
    const { status, headers, body } = await client("/a", { method: "HEAD" });
    const large = await client("/large", { method: "HEAD", headers: { "accept-encoding": "gzip" } });

    assert.deepEqual([status, headers["content-type"], body.length], [200, "application/json", 0], version);
    assert.deepEqual([large.status, large.body.length], [200, 0], version);
    assert.equal((await client("/a")).status, 200, "the connection continues");
  });
});

test("an HTTP/1.1 connection gets no deadline from Node when it is idle", async () => {
  const agent = new https.Agent({ ca, keepAlive: true });
  const { headers } = await http1(agent)("/a");
  agent.destroy();

  assert.deepEqual([headers.connection, headers["keep-alive"]], ["keep-alive", undefined]);
});

test("warnings may contain any text", async () => {
  await withClients(async (client, version) => {
    const { headers } = await client("/a");

    const text = Buffer.from(String(headers.warning), "latin1").toString();
    assert.equal(text, '299 - "für 日本", 299 - "quoted \\"x\\""', version);
  });
});

test("a client that expects 100-continue gets it", async () => {
  await withClients(async (client, version) => {
    const { body } = await client("/a", { method: "POST", headers: { expect: "100-continue" }, body: "12345" });

    assert.equal(body.toString(), "POST /a 5", version);
  });
});

test("a connection is reused", async () => {
  const agent = new https.Agent({ ca, keepAlive: true, maxSockets: 1 });
  const ports = new Set<number | undefined>();
  agent.on("keylog", (_line: Buffer, socket: tls.TLSSocket) => ports.add(socket.localPort));
  const client = http1(agent);

  for (let i = 0; i < 3; i++) await client("/a");
  await client("/watch");
  await client("/a");

  assert.equal(ports.size, 1);
  agent.destroy();
});

test("large bodies are compressed on request, small ones never", async () => {
  await withClients(async (client, version) => {
    const gzip = { headers: { "accept-encoding": "deflate, gzip" } };
    const packed = await client("/large", gzip);
    const plain = await client("/large");
    const unwanted = await client("/large", { headers: { "accept-encoding": "gzip;q=0" } });
    const small = await client("/a", gzip);

    assert.equal(packed.headers["content-encoding"], "gzip", version);
    assert.equal(packed.headers.vary, "Accept-Encoding", version);
    assert.deepEqual(zlib.gunzipSync(packed.body), large, version);
    for (const { headers } of [plain, unwanted, small]) assert.equal(headers["content-encoding"], undefined, version);
    assert.deepEqual(plain.body, large, version);
  });
});

test("a client that leaves while its response is compressed is no error", async () => {
  const errors: string[] = [];
  const log: Log = { ...silentLog, error: (message) => void errors.push(message) };
  const body = Buffer.alloc(8 << 20, "orlop ");
  const leave = async (): Promise<Served> => {
    setImmediate(() => stream.close(http2.constants.NGHTTP2_CANCEL));
    const wire: Wire = { type: "body", status: 200, contentType: "text/plain", chunks: [body] };
    return { wire, headers: {}, warnings: [], acceptEncoding: "gzip" };
  };
  await using other = await listen(leave, { ...options, log });
  const session = http2.connect(`https://127.0.0.1:${other.port}`, { ca });
  const stream = session.request({ ":path": "/" });
  await once(stream, "close");
  // This takes longer than the server does.
  await promisify(zlib.gzip)(Buffer.concat([body, body]), { level: 6 });
  session.close();

  assert.deepEqual(errors, []);
});

test("an unexpected upgrade is answered as an ordinary request", async () => {
  const socket = tls.connect({ host: "127.0.0.1", port: listening.port, ca });
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let text = "";
  socket.on("data", (chunk: Buffer) => (text += chunk.toString()));
  socket.on("end", () => resolve(text));
  socket.on("error", reject);

  socket.write("GET /a HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n");

  const answer = await promise;
  assert.match(answer, /^HTTP\/1\.1 200 OK\r\n/);
  assert.match(answer, /connection: close/i);
  assert.ok(answer.endsWith("GET /a 0"));
});

/** All that the server says to these bytes until it closes the connection. */
async function sayRaw(text: string): Promise<string> {
  const socket = tls.connect({ host: "127.0.0.1", port: listening.port, ca });
  let answer = "";
  socket.on("data", (chunk: Buffer) => (answer += chunk.toString()));
  socket.write(text);
  await once(socket, "end");
  return answer;
}
const bodiesOf = (answer: string): string[] => answer.match(/(GET|POST|PUT) \/\w+ \d+/g) ?? [];
const smuggled = "GET /smuggled HTTP/1.1\r\nhost: x\r\n\r\n";
const last = "GET /last HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
const upgrade = "host: x\r\nconnection: Upgrade\r\nupgrade: websocket\r\n";

for (const method of ["POST", "PUT"]) {
  test(`a ${method} that asks for an upgrade and has a body is refused, and the body is no further request`, async () => {
    const { length } = smuggled;
    const sized = `${method} /a HTTP/1.1\r\n${upgrade}content-length: ${length}\r\n\r\n${smuggled}`;
    const chunks = `${length.toString(16)}\r\n${smuggled}\r\n0\r\n\r\n`;
    const chunked = `${method} /a HTTP/1.1\r\n${upgrade}transfer-encoding: chunked\r\n\r\n${chunks}`;

    for (const request of [sized, chunked]) {
      const answer = await sayRaw(request + last);
      assert.match(answer, /^HTTP\/1\.1 400 .*\r\n\r\na request for an upgrade has no body\r\n$/s);
    }
  });
}

test("what follows a request for an upgrade without a body is dropped, and the connection ends", async () => {
  for (const length of ["", "content-length: 0\r\n"]) {
    const request = `POST /a HTTP/1.1\r\n${upgrade}${length}\r\n${smuggled}`;
    assert.deepEqual(bodiesOf(await sayRaw(request)), ["POST /a 0"]);
  }
});

test("a request for an upgrade with two lengths is refused", async () => {
  const lengths = `content-length: ${smuggled.length}\r\ntransfer-encoding: chunked\r\n`;
  const answer = await sayRaw(`POST /a HTTP/1.1\r\n${upgrade}${lengths}\r\n0\r\n\r\n${smuggled}`);

  assert.match(answer, /^HTTP\/1\.1 400 /);
  assert.deepEqual(bodiesOf(answer), []);
});

test("new connections use a renewed certificate, and open ones continue", async () => {
  const url = `https://127.0.0.1:${listening.port}`;
  const open = http2.connect(url, { ca });
  const askOpen = () =>
    new Promise<unknown>((resolve, reject) => {
      const stream = open.request({ ":path": "/a" });
      stream.on("response", (headers) => resolve(headers[":status"])).on("error", reject);
      stream.resume();
    });
  assert.equal(await askOpen(), 200);
  const other = createAuthority({ subject: { commonName: "another authority" }, ...validity });
  const request = { subject: { commonName: "renewed" }, use: "server", hosts: ["127.0.0.1"], ...validity } as const;
  const { key, certificate: cert } = createCertificate(other, request);

  listening.renew({ key, cert, ca: other.certificate });

  const names = [];
  for (const ALPNProtocols of [["h2"], ["http/1.1"]]) {
    const socket = tls.connect({ port: listening.port, host: "127.0.0.1", ca: other.certificate, ALPNProtocols });
    await new Promise<void>((resolve, reject) => socket.once("secureConnect", resolve).once("error", reject));
    names.push([socket.getPeerCertificate().subject.CN, socket.alpnProtocol]);
    socket.destroy();
  }
  assert.deepEqual(names, [
    ["renewed", "h2"],
    ["renewed", "http/1.1"],
  ]);
  assert.equal(await askOpen(), 200);
  open.close();
  listening.renew({ key: serving.key, cert: serving.certificate, ca });
});

test("connections use the quickest cipher, also after a renewal, and others if the client wants them", async () => {
  const cipherOf = async (ciphers?: string): Promise<string> => {
    const socket = tls.connect({ port: listening.port, host: "127.0.0.1", ca, ...(ciphers ? { ciphers } : {}) });
    await once(socket, "secureConnect");
    const { name } = socket.getCipher();
    socket.destroy();
    return name;
  };
  const first = await cipherOf();

  listening.renew({ key: serving.key, cert: serving.certificate, ca });

  assert.equal(first, "TLS_AES_128_GCM_SHA256");
  assert.equal(await cipherOf(), first);
  assert.equal(await cipherOf("TLS_AES_256_GCM_SHA384"), "TLS_AES_256_GCM_SHA384");
});
