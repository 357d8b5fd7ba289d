import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import http2 from "node:http2";
import https from "node:https";
import { after, before, test } from "node:test";
import tls from "node:tls";
import zlib from "node:zlib";
import { Random } from "#testing/arbitrary.ts";
import { damagedRequest, makeSamples } from "./support/damage.ts";
import { credentialsOf, deadline, type RunningServer, startServer } from "./support/server.ts";

let server: RunningServer;
let credentials: ReturnType<typeof credentialsOf>;
before(async () => {
  server = await startServer();
  credentials = credentialsOf(server);
});
after(() => server[Symbol.asyncDispose]());

interface Said {
  readonly status: number;
  readonly body: string;
}
interface Ask {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Record<string, string | number>;
  readonly body?: Uint8Array | string;
}

/** Sends a request over HTTP/1.1, without a client library. */
function ask({ method = "POST", path, headers = {}, body }: Ask): Promise<Said> {
  const { promise, resolve, reject } = Promise.withResolvers<Said>();
  const options = { method, headers: { "content-type": "application/json", ...headers }, agent: false, ...credentials };
  const request = https.request(`${server.url}${path}`, options, (response) => {
    const chunks: Buffer[] = [];
    response.on("data", (chunk: Buffer) => chunks.push(chunk));
    response.on("end", () => resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString() }));
    response.on("error", reject);
  });
  request.on("error", reject);
  request.end(body);
  return promise;
}

/** The same over HTTP/2. */
async function ask2(
  session: http2.ClientHttp2Session,
  { method = "POST", path, headers = {}, body }: Ask,
): Promise<Said> {
  const { promise, resolve, reject } = Promise.withResolvers<Said>();
  const stream = session.request(
    { ":method": method, ":path": path, "content-type": "application/json", ...headers },
    { endStream: body === undefined },
  );
  let status = 0;
  const chunks: Buffer[] = [];
  stream.on("response", (answer) => (status = Number(answer[":status"])));
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  stream.on("end", () => resolve({ status, body: Buffer.concat(chunks).toString() }));
  stream.on("error", reject);
  if (body !== undefined) stream.end(body);
  return await promise;
}

const connect2 = (): http2.ClientHttp2Session => http2.connect(server.url, credentials).on("error", () => {});
const configMaps = "/api/v1/namespaces/default/configmaps";
const configMap = (name: string, more: object = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name },
  ...more,
});
const isAlive = async (): Promise<void> => {
  assert.equal((await ask({ method: "GET", path: "/readyz" })).body, "ok");
};

function assertStatus({ status, body }: Said, code: number, message: RegExp): void {
  const parsed = JSON.parse(body) as { kind: string; code: number; message: string };
  assert.equal(status, code, body);
  assert.deepEqual([parsed.kind, parsed.code], ["Status", code]);
  assert.match(parsed.message, message);
}

test("a body over 3 MiB is refused, announced or not, compressed or not", async () => {
  const big = JSON.stringify(configMap("big", { data: { a: "x".repeat(3 << 20) } }));
  const message = /Request entity too large: limit is 3145728/;
  const session = connect2();

  assertStatus(await ask({ path: configMaps, body: big }), 413, message);
  assertStatus(await ask({ path: configMaps, body: big, headers: { "transfer-encoding": "chunked" } }), 413, message);
  assertStatus(await ask2(session, { path: configMaps, body: big }), 413, message);
  const bomb = zlib.gzipSync(Buffer.alloc(300 << 20, 0x20));
  assertStatus(await ask({ path: configMaps, body: bomb, headers: { "content-encoding": "gzip" } }), 413, message);
  assertStatus(
    await ask2(session, { path: configMaps, body: bomb, headers: { "content-encoding": "gzip" } }),
    413,
    message,
  );

  session.close();
  await isAlive();
});

test("the body of an anonymous request is neither requested nor read", async () => {
  const session = http2.connect(server.url, { ca: credentials.ca }).on("error", () => {});
  const stream = session.request({ ":method": "POST", ":path": configMaps, expect: "100-continue" });
  let isAsked = false;
  stream.on("continue", () => (isAsked = true)).on("error", () => {});
  for (let n = 0; n < 48; n++) stream.write(Buffer.alloc(64 << 10));
  const status = await new Promise((resolve) => stream.once("response", (headers) => resolve(headers[":status"])));
  await new Promise((resolve) => stream.resume().once("close", resolve));

  assert.deepEqual([status, isAsked], [403, false]);
  assert((session.socket.bytesWritten ?? 0) < 256 << 10, "most of the body was never sent");
  session.destroy();
  await isAlive();
});

test("compressed bodies are read, but damaged ones and other encodings are refused", async () => {
  const gzip = { "content-encoding": "gzip" };
  const good = zlib.gzipSync(JSON.stringify(configMap("compressed")));

  assert.equal((await ask({ path: configMaps, body: good, headers: gzip })).status, 201);
  assertStatus(await ask({ path: configMaps, body: "not gzip", headers: gzip }), 400, /not valid gzip/);
  assertStatus(await ask({ path: configMaps, body: good.subarray(0, 20), headers: gzip }), 400, /not valid gzip/);
  assertStatus(
    await ask({ path: configMaps, body: good, headers: { "content-encoding": "br" } }),
    415,
    /use gzip or none/,
  );
});

test("deep nesting is refused in every encoding", async () => {
  const deep = 10_000;
  const json = `{"apiVersion":"v1","kind":"ConfigMap","metadata":${'{"a":'.repeat(deep)}1${"}".repeat(deep)}}`;
  const lists = `{"apiVersion":"v1","kind":"ConfigMap","data":${"[".repeat(deep)}${"]".repeat(deep)}}`;
  const yaml = `apiVersion: v1\nkind: ConfigMap\ndata: ${"[".repeat(5000)}${"]".repeat(5000)}\n`;
  const ladder = Array.from({ length: 1500 }, (_, i) => `${" ".repeat(i)}a:\n`).join("");

  assertStatus(await ask({ path: configMaps, body: json }), 400, /exceeded max depth/);
  assertStatus(await ask({ path: configMaps, body: lists }), 400, /exceeded max depth/);
  const yamlType = { "content-type": "application/yaml" };
  assertStatus(
    await ask({ path: configMaps, body: yaml, headers: yamlType }),
    400,
    /exceeded max depth|cannot unmarshal/,
  );
  assertStatus(await ask({ path: configMaps, body: ladder, headers: yamlType }), 400, /./);
  for (const type of ["json-patch+json", "merge-patch+json", "strategic-merge-patch+json", "apply-patch+yaml"]) {
    const headers = { "content-type": `application/${type}` };
    const path = `${configMaps}/kube-root-ca.crt?fieldManager=test`;
    assertStatus(await ask({ method: "PATCH", path, body: json, headers }), 400, /./);
  }
  await isAlive();
});

test("YAML that multiplies itself through aliases is refused", async () => {
  const lines = ['a0: &a0 ["x","x","x","x","x","x","x","x","x"]'];
  for (let i = 1; i < 12; i++)
    lines.push(
      `a${i}: &a${i} [${Array(9)
        .fill(`*a${i - 1}`)
        .join(",")}]`,
    );
  const headers = { "content-type": "application/yaml" };

  assertStatus(await ask({ path: configMaps, body: lines.join("\n"), headers }), 400, /alias/i);
});

test("a long text of bad YAML does not block others", async () => {
  const body = `apiVersion: "${"\\x".repeat(30_000)}`;
  let isAnswered = false;

  const slow = ask({ path: configMaps, body, headers: { "content-type": "application/yaml" } }).finally(
    () => (isAnswered = true),
  );
  for (let i = 0; i < 3; i++) await isAlive();
  const wasAnswered = isAnswered;

  assert.equal(wasAnswered, false);
  assertStatus(await slow, 400, /yaml: line 1: Invalid escape sequence/);
});

test("10,000 annotations are accepted, but not too many bytes of them", async () => {
  const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`example.com/a${i}`, "x"]));
  const large = { note: "x".repeat(300 << 10) };
  const withAnnotations = (name: string, annotations: object) =>
    JSON.stringify({ ...configMap(name), metadata: { name, annotations } });

  const taken = await ask({ path: configMaps, body: withAnnotations("many", many) });
  const refused = await ask({ path: configMaps, body: withAnnotations("large", large) });

  assert.equal(taken.status, 201);
  assertStatus(refused, 422, /metadata\.annotations: Too long: may not be more than 262144 bytes/);
});

test("text that is not UTF-8, odd keys and numbers out of range are refused or kept as they are", async () => {
  const bytes = Buffer.concat([
    Buffer.from('{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"'),
    Buffer.from([0xff, 0xfe]),
    Buffer.from('"}}'),
  ]);
  const key =
    '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"proto"},"data":{"__proto__":"kept","constructor":"too"}}';
  const polluting =
    '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"polluting"},"__proto__":{"immutable":true}}';
  const number = (replicas: string) =>
    `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"n"},"spec":{"replicas":${replicas}}}`;
  const deployments = "/apis/apps/v1/namespaces/default/deployments";

  assertStatus(await ask({ path: configMaps, body: bytes }), 400, /invalid UTF-8/);
  const kept = await ask({ path: configMaps, body: key });
  assert.equal(kept.status, 201, kept.body);
  assert.match(
    (await ask({ method: "GET", path: `${configMaps}/proto` })).body,
    /"data":\{"__proto__":"kept","constructor":"too"\}/,
  );
  const clean = await ask({ path: `${configMaps}?fieldValidation=Ignore`, body: polluting });
  assert.equal(clean.status, 201, clean.body);
  assert.doesNotMatch(clean.body, /immutable/);
  for (const bad of ["1e30", "-1e400", "2147483648", "1.5", '"1"', "99999999999999999999999999"])
    assertStatus(
      await ask({ path: deployments, body: number(bad) }),
      400,
      /cannot unmarshal (number|string).* into Go struct field DeploymentSpec\.spec\.replicas of type int32/,
    );
  await isAlive();
});

test("endless headers are refused", async () => {
  const huge = { "x-huge": "x".repeat(200 << 10) };
  const session = connect2();

  const first = await ask({ method: "GET", path: "/api", headers: huge }).catch((error: unknown) => error);
  const second = await ask2(session, { method: "GET", path: "/api", headers: huge }).catch((error: unknown) => error);

  for (const answer of [first, second]) {
    const status = answer instanceof Error ? 431 : (answer as Said).status;
    assert.equal(status, 431);
  }
  session.destroy();
  await isAlive();
});

test("a client that stops in the middle of a request does not make others wait", async () => {
  const sockets = await Promise.all(Array.from({ length: 50 }, () => openSocket()));
  sockets.forEach((socket, index) => {
    const head = `POST ${configMaps} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{"a":`;
    socket.write(head.slice(0, 1 + ((index * 7) % head.length)));
  });
  const session = connect2();
  const streams = Array.from({ length: 50 }, () => {
    const stream = session.request(
      { ":method": "POST", ":path": configMaps, "content-type": "application/json" },
      { endStream: false },
    );
    stream.on("error", () => {});
    stream.write('{"apiVersion":');
    return stream;
  });

  for (let i = 0; i < 20; i++)
    assert.equal((await ask({ path: configMaps, body: JSON.stringify(configMap(`beside-${i}`)) })).status, 201);

  for (const stream of streams) stream.close(http2.constants.NGHTTP2_CANCEL);
  session.destroy();
  for (const socket of sockets) socket.destroy();
  await isAlive();
});

test("a watch that nobody reads does not fill the memory, and misses nothing once it is read", async () => {
  const path = "/api/v1/namespaces/default/configmaps";
  const socket = await openSocket();
  socket.pause();
  socket.write(`GET ${path}?watch=true HTTP/1.1\r\nhost: x\r\n\r\n`);
  const session = connect2();
  const body = (i: number) => JSON.stringify(configMap("flood", { data: { text: String(i).padEnd(100_000, "x") } }));
  assert.equal((await ask2(session, { path, body: body(-1) })).status, 201);

  const before = residentKiB();
  let changes = 0;
  for (let round = 0; round < 25; round++) {
    const writes = Array.from({ length: 10 }, (_, i) =>
      ask2(session, { method: "PUT", path: `${path}/flood`, body: body(round * 10 + i) }),
    );
    for (const { status, body: text } of await Promise.all(writes)) {
      assert([200, 409].includes(status), text);
      if (status === 200) changes++;
    }
  }

  assert(residentKiB() - before < 400 << 10, "memory grew with what nobody read");
  const mark = '"type":"MODIFIED"';
  let seen = 0;
  let end = "";
  socket.on("data", (data: Buffer) => {
    const text = end + data.toString("latin1");
    seen += text.split(mark).length - 1;
    end = text.slice(1 - mark.length);
  });
  socket.resume();
  await deadline("all events", () => seen >= changes || undefined);
  socket.destroy();
  session.close();
  await isAlive();
});

test("a connection that does not speak HTTP is closed", async () => {
  for (const text of [
    "\0\0\0\0\r\n\r\n",
    "GET\r\n\r\n",
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\xff",
    "GET / HTTP/9.9\r\n\r\n",
    "\x16\x03\x01",
  ]) {
    const socket = await openSocket();
    socket.on("error", () => {});
    socket.resume();
    socket.end(Buffer.from(text, "latin1"));
    await deadline(`the end of ${JSON.stringify(text)}`, () => socket.closed || undefined);
  }
  await isAlive();
});

test("3,000 damaged requests over the wire each get a clear answer", async () => {
  const random = new Random(7);
  const samples = await makeSamples(random, 2);
  const sessions = [connect2(), connect2()];
  const wrong: string[] = [];
  const one = async (session: http2.ClientHttp2Session): Promise<void> => {
    const { method, path, query, headers, body } = damagedRequest(random, samples);
    const url = encodeURI(`${path}${query ? `?${query}` : ""}`).replaceAll("%25", "%");
    if (/watch=(?!false|0)/.test(query) || !/^[A-Z]+$/.test(method) || method === "CONNECT" || method === "TRACE")
      return;
    const plain = Object.fromEntries(Object.entries(headers).filter(([name, value]) => isHeader(name, value)));
    const said = await ask2(session, { method, path: url, headers: plain, ...(body ? { body } : {}) }).catch(cutOff);
    if (!said) return;
    const isTimeout = said.status === 504 && said.body.includes("Too large resource version");
    if (said.status < 200 || (said.status >= 500 && !isTimeout))
      wrong.push(`${method} ${url}: ${said.status} ${said.body}`);
  };

  for (let i = 0; i < 150; i++)
    await Promise.all(Array.from({ length: 20 }, (_, n) => one(sessions[n % 2] as http2.ClientHttp2Session)));

  assert.deepEqual(wrong, []);
  for (const session of sessions) session.close();
  await isAlive();
});

/** A request that violates HTTP/2 itself gets no answer. */
function cutOff(error: unknown): undefined {
  if (!(error instanceof Error && "code" in error && error.code === "ERR_HTTP2_STREAM_ERROR")) throw error;
}

const isHeader = (name: string, value: string): boolean =>
  /^[\x21-\x7e]+$/.test(name) && /^[\x20-\x7e]*$/.test(value) && value.trim() === value;

function openSocket(): Promise<tls.TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = tls.connect({ host: "127.0.0.1", port: server.port, ...credentials, servername: "localhost" });
    socket.once("secureConnect", () => resolve(socket));
    socket.once("error", reject);
  });
}

function residentKiB(): number {
  const status = readFileSync(`/proc/${server.pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]);
}
