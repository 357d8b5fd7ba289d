import assert from "node:assert/strict";
import { once } from "node:events";
import http2 from "node:http2";
import net from "node:net";
import { test } from "node:test";
import tls from "node:tls";
import zlib from "node:zlib";
import { type UserInfo } from "#api/exchange.ts";
import { StatusError } from "#api/status.ts";
import { nextTurn } from "#lib/async/turns.ts";
import { createAuthority, createCertificate } from "#lib/crypto/x509.ts";
import { ignore } from "#lib/net/sockets.ts";
import { silentLog } from "#lib/process/log.ts";
import { anonymousUser } from "#server/authenticate/anonymous.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { type Served } from "../server.ts";
import { defaultLimits, type Limits } from "./limits.ts";
import { type WatchWriter } from "./respond.ts";
import { listen } from "./serve.ts";
import { peerOf } from "./tls.ts";
import { type WireRequest } from "./wire-request.ts";

// TLS checks certificates with the system's clock, so the virtual one starts at the same time.
const startMs = Date.now();
const hourMs = 3_600_000;
const validity = { notBeforeMs: startMs - 60_000, notAfterMs: startMs + hourMs };
const authority = createAuthority({ subject: { commonName: "test authority" }, ...validity });
const ca = authority.certificate;
const serving = createCertificate(authority, {
  subject: { commonName: "test" },
  use: "server",
  hosts: ["127.0.0.1"],
  ...validity,
});
const jane: UserInfo = { name: "jane", groups: [] };

const users: Readonly<Record<string, UserInfo>> = {
  "/nobody": anonymousUser,
  "/work": anonymousUser,
  "/joe": { name: "joe", groups: [] },
};

/**
 * Replaces the server: `/nobody` and the long `/work` are anonymous, `/joe` is another user, `/refused` is refused on its headers, `/watch`
 * never ends, `/feed` is a watch of two events of 1 MiB, and `/peer` says whether a certificate was presented.
 */
async function answer(request: WireRequest, made: string[]): Promise<Served> {
  const { path, method } = request;
  const rest = { headers: {}, warnings: [], acceptEncoding: undefined };
  const contentType = "text/plain";
  const say = (status: number, text: string): Served => ({
    wire: { type: "body", status, contentType, chunks: [Buffer.from(text)] },
    ...rest,
  });
  try {
    if (path === "/refused") return say(403, "no");
    if (path === "/work") for (const endMs = performance.now() + 1; performance.now() < endMs; );
    if (path === "/peer") return say(200, request.peer.certificate ? "certificate" : "no certificate");
    await request.admit(users[path] ?? jane, { passesOn: false });
    if (path === "/watch") request.countWatch();
    await request.room();
    made.push(path);
    if (path === "/feed")
      return { wire: { type: "watch", contentType, start: (writer) => feed(writer, made) }, ...rest };
    if (path === "/watch") return { wire: { type: "watch", contentType, start: () => () => {} }, ...rest };
    return say(200, path === "/large" ? "x".repeat(1 << 20) : `${method} ${request.body?.length ?? 0}`);
  } catch (error) {
    if (error instanceof StatusError) return say(error.code, error.message);
    throw error;
  }
}

function feed(writer: WatchWriter, made: string[], times = 2): () => void {
  if (writer.load === "full") writer.onIdle(() => void feed(writer, made, times));
  else {
    made.push("fed");
    writer.write(Buffer.alloc(1 << 20));
    if (times > 1) writer.onIdle(() => void feed(writer, made, times - 1));
  }
  return () => {};
}

async function open(limits: Partial<Limits> = {}, host = "127.0.0.1") {
  const clock = createVirtualClock(startMs);
  const made: string[] = [];
  const listening = await listen((request) => answer(request, made), {
    host,
    port: 0,
    key: serving.key,
    cert: serving.certificate,
    ca,
    clock,
    log: silentLog,
    limits: { ...defaultLimits, ...limits },
    peerOf,
  });
  const { port } = listening;
  return {
    clock,
    made,
    port,
    heldBytes: () => listening.heldBytes(),
    session: async (more: http2.SecureClientSessionOptions = {}) => {
      const session = http2.connect(`https://127.0.0.1:${port}`, { ca, ...more });
      session.on("error", ignore);
      await once(session, "connect");
      return session;
    },
    tcp: async () => {
      const socket = net.connect(port, "127.0.0.1").on("error", ignore);
      await once(socket, "connect");
      return socket.resume();
    },
    tls: async () => {
      const socket = tls.connect({ host: "127.0.0.1", port, ca }).on("error", ignore);
      await once(socket, "secureConnect");
      return socket;
    },
    [Symbol.asyncDispose]: () => listening[Symbol.asyncDispose](),
  };
}

interface Said {
  readonly status: number;
  readonly text: string;
}

/** A request whose body the caller ends, or not. */
function ask(session: http2.ClientHttp2Session, path: string, body?: Buffer, headers: http2.OutgoingHttpHeaders = {}) {
  const stream = session.request({ ":path": path, ":method": body ? "POST" : "GET", ...headers }, { endStream: !body });
  const said = new Promise<Said>((resolve) => {
    let status = 0;
    let text = "";
    stream.on("error", ignore);
    stream.on("response", (answered) => (status = Number(answered[":status"])));
    stream.on("data", (chunk: Buffer) => (text += chunk.toString()));
    stream.on("close", () => resolve({ status, text }));
  });
  if (body) stream.write(body);
  return { stream, said };
}
const get = (session: http2.ClientHttp2Session, path: string): Promise<Said> => ask(session, path).said;
function post(session: http2.ClientHttp2Session, body: Buffer, headers: http2.OutgoingHttpHeaders = {}): Promise<Said> {
  const { stream, said } = ask(session, "/a", body, headers);
  stream.end();
  return said;
}

/** Resolves when it has ended, in whatever way. */
const closing = (socket: { once(event: "close", listener: () => void): unknown }): Promise<void> =>
  new Promise((resolve) => socket.once("close", () => resolve()));

test("a connection that never starts TLS is cut after ten seconds", async () => {
  await using server = await open();
  const socket = await server.tcp();
  const other = await server.session();
  await get(other, "/a");
  const closed = closing(socket);

  await server.clock.advance(defaultLimits.handshakeMs + 1000);

  await closed;
  assert.equal((await get(other, "/a")).status, 200);
  other.destroy();
});

test("connections that never start TLS do not delay the shutdown", async () => {
  const server = await open();
  const sockets = await Promise.all(Array.from({ length: 20 }, () => server.tcp()));
  const half = await server.tls();
  half.write("POST /a HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n");
  const closed = Promise.all([...sockets, half.resume()].map((socket) => closing(socket)));

  const ended = server[Symbol.asyncDispose]();
  await server.clock.advance(2000);

  await Promise.all([ended, closed]);
});

test("a connection ends with its client certificate", async () => {
  await using server = await open();
  const subject = { commonName: "jane" };
  const soon = createCertificate(authority, { subject, use: "client", ...validity, notAfterMs: startMs + 600_000 });
  const later = createCertificate(authority, { subject, use: "client", ...validity });
  const short = await server.session({ key: soon.key, cert: soon.certificate });
  const long = await server.session({ key: later.key, cert: later.certificate });
  for (const session of [short, long]) ask(session, "/watch");
  assert.equal((await get(short, "/a")).status, 200);
  assert.equal((await get(long, "/a")).status, 200);

  const closed = closing(short);
  await server.clock.advance(600_000);

  await closed;
  assert.equal((await get(long, "/a")).status, 200);
  long.destroy();
});

test("connections from one port to two addresses of the server are two callers", async () => {
  await using server = await open({}, "0.0.0.0");
  const { port } = server;
  const jane = createCertificate(authority, { subject: { commonName: "jane" }, use: "client", ...validity });
  const connect = async (options: net.TcpSocketConnectOpts) => {
    const socket = net.connect({ localAddress: "127.0.0.1", ...options, port }).on("error", ignore);
    await once(socket, "connect");
    return socket;
  };
  const first = await connect({ host: "127.0.0.1", port });
  const second = await connect({ host: "127.0.0.2", port, localPort: first.localPort ?? assert.fail() });
  const nobody = await server.session({ createConnection: () => tls.connect({ socket: second, ca, ...h2 }) });
  const before = await get(nobody, "/peer");
  const shown = { key: jane.key, cert: jane.certificate };
  const user = await server.session({ createConnection: () => tls.connect({ socket: first, ca, ...shown, ...h2 }) });

  const said = [before, await get(user, "/peer"), await get(nobody, "/peer")];
  for (const session of [user, nobody]) session.destroy();

  assert.deepEqual(
    said.map(({ text }) => text),
    ["no certificate", "certificate", "no certificate"],
  );
});
const h2 = { servername: "", checkServerIdentity: () => undefined, ALPNProtocols: ["h2"] };

test("a body that is not complete in time is answered with a timeout", async () => {
  await using server = await open();
  const session = await server.session();
  const { said } = ask(session, "/a", Buffer.from("half of it"));
  await get(session, "/a");

  await server.clock.advance(defaultLimits.bodyMs + 1000);

  assert.deepEqual(await said, { status: 504, text: "Timeout: request did not complete within the allotted timeout" });
  session.destroy();
});

test("a connection with slow headers or without requests is cut", async () => {
  await using server = await open();
  const slow = (await server.tls()).resume();
  const idle = (await server.tls()).resume();
  const session = await server.session();
  await get(session, "/nobody");
  const closed = Promise.all([slow, idle, session].map((socket) => closing(socket)));

  for (const drop of ["GET /a HT", "TP/1.1\r\n", "a: b\r\n", "c: d\r\n"]) {
    slow.write(drop);
    await server.clock.advance(9000);
  }

  await closed;
});

test("the oldest of too many connections without a user is cut", async () => {
  await using server = await open({ strangers: 3 });
  const user = await server.session();
  await get(user, "/a");
  const [first, ...others] = [await server.tcp(), await server.tcp(), await server.tcp()];
  const closed = closing(first ?? assert.fail());

  await server.clock.advance(defaultLimits.silentMs);
  const fourth = await server.session();

  await closed;
  assert.equal((await get(fourth, "/a")).status, 200);
  assert.equal((await get(user, "/a")).status, 200);
  assert(others.every(({ destroyed }) => !destroyed));
  for (const session of [user, fourth]) session.destroy();
  for (const socket of others) socket.destroy();
});

test("an address may keep only a limited number of connections without a user after the handshake", async () => {
  await using server = await open({ strangersPerAddress: 3 });
  const [first, ...others] = [await server.tls(), await server.tls(), await server.tls()];
  const closed = closing(first?.resume() ?? assert.fail());
  await server.clock.advance(defaultLimits.handshakeMs);

  const fourth = await server.tls();

  await closed;
  assert([...others, fourth].every(({ destroyed }) => !destroyed));
  for (const socket of [...others, fourth]) socket.destroy();
});

test("a client may open many connections concurrently", async () => {
  await using server = await open({ strangersPerAddress: 3 });

  const sessions = await Promise.all(Array.from({ length: 12 }, () => server.session()));
  const answers = await Promise.all(sessions.map((session) => get(session, "/a")));

  assert(answers.every(({ status }) => status === 200));
  for (const session of sessions) session.destroy();
});

test("a burst of connections of one client is served completely", async () => {
  await using server = await open({ strangersPerAddress: 3 });

  const sessions = await Promise.all(Array.from({ length: 30 }, () => greet(server)));

  const said = sessions.map(({ status }) => status);
  assert.deepEqual(said, Array(30).fill(200));
});
async function greet(server: Awaited<ReturnType<typeof open>>): Promise<Said> {
  const session = await server.session();
  const said = await get(session, "/a");
  session.destroy();
  return said;
}

test("a user is served before most of a flood of strangers that came first", async () => {
  await using server = await open();
  const user = await server.session();
  await get(user, "/jane");
  const strangers = await Promise.all(Array.from({ length: 5 }, () => server.session()));
  const flood = strangers.flatMap((session) => Array.from({ length: 20 }, () => get(session, "/work")));
  await flood[0];
  await get(user, "/jane");
  const before = server.made.lastIndexOf("/jane");
  assert.ok(before < 50, `${before} of 100 strangers were served first`);
  await Promise.all(flood);
  for (const session of [user, ...strangers]) session.destroy();
});

test("with too many connections, one of the user with the most is cut", async () => {
  await using server = await open({ connections: 4 });
  const greedy = [await server.session(), await server.session(), await server.session()];
  for (const session of greedy) await get(session, "/a");
  const other = await server.session();
  await get(other, "/joe");
  const closed = closing(greedy[0] ?? assert.fail());

  const newcomer = await server.session();

  await closed;
  const said = [await get(newcomer, "/joe"), await get(other, "/joe")];
  for (const session of [...greedy, other, newcomer]) session.destroy();
  assert.deepEqual(
    said.map(({ status }) => status),
    [200, 200],
  );
});

test("a body that is refused on its headers is not read", async () => {
  await using server = await open();
  const session = await server.session();
  const { stream, said } = ask(session, "/refused", Buffer.alloc(1 << 20));

  assert.deepEqual(await said, { status: 403, text: "no" });
  assert.equal(stream.rstCode, http2.constants.NGHTTP2_NO_ERROR);
  assert((session.socket.bytesWritten ?? 0) < 256 << 10, "most of the body was never sent");
  session.destroy();
});

test("the pending bodies of one user are limited, and others must be retried", async () => {
  await using server = await open({ bodyBytesPerUser: 100_000 });
  const session = await server.session();
  const held = ask(session, "/a", Buffer.alloc(60_000));
  await server.clock.settle();

  const refused = await post(session, Buffer.alloc(60_000));
  const small = await post(session, Buffer.alloc(1000));
  held.stream.end();

  assert.deepEqual([refused.status, small.text, (await held.said).text], [429, "POST 1000", "POST 60000"]);
  assert.equal((await post(session, Buffer.alloc(60_000))).text, "POST 60000", "finished bodies no longer count");
  session.destroy();
});

test("compressed bodies count by their uncompressed size, and wait for a place", async () => {
  await using server = await open({ bodyBytesPerUser: 3_000_000, largeBodies: 1, largeBodiesPerUser: 1 });
  const session = await server.session();
  const body = zlib.gzipSync(Buffer.alloc(2_000_000));
  const bodies = await Promise.all([1, 2, 3].map(() => post(session, body, { "content-encoding": "gzip" })));

  assert.deepEqual(
    bodies.map(({ text }) => text),
    ["POST 2000000", "POST 2000000", "POST 2000000"],
  );
  session.destroy();
});

test("no responses are made while earlier ones are unread", async () => {
  await using server = await open({ unsentBytesPerConnection: 2 << 20 });
  const session = await server.session();
  await get(session, "/a");
  for (let n = 0; n < 20; n++) session.request({ ":path": "/large" }).pause().on("error", ignore);
  // Answered after all frames before it.
  await new Promise<void>((resolve) => session.ping(() => resolve()));
  assert(server.made.filter((path) => path === "/large").length <= 3, server.made.join());
  assert(server.heldBytes() >= 2 << 20, `${server.heldBytes()} bytes`);

  const closed = closing(session);
  await server.clock.advance(2 * defaultLimits.stallMs + 1000);

  await closed;
  assert.equal(server.heldBytes(), 0);
});

test("responses that are read follow one after the other, however many are requested", async () => {
  await using server = await open({ unsentBytesPerConnection: 2 << 20 });
  const session = await server.session();

  const answers = await Promise.all(Array.from({ length: 20 }, () => get(session, "/large")));

  assert(answers.every(({ text }) => text.length === 1 << 20));
  session.destroy();
});

test("the watches of one user are limited", async () => {
  await using server = await open({ watchesPerUser: 2 });
  const session = await server.session();
  const watches = [ask(session, "/watch"), ask(session, "/watch")];
  await Promise.all(watches.map(({ stream }) => once(stream, "response")));

  assert.equal((await get(session, "/watch")).status, 429);
  watches[0]?.stream.close();
  await get(session, "/a");
  const third = ask(session, "/watch");
  const [headers] = await once(third.stream, "response");

  assert.equal(headers[":status"], 200);
  session.destroy();
});

test("a watch with a long selector counts as several", async () => {
  await using server = await open({ watchesPerUser: 4 });
  const session = await server.session();
  const long = ask(session, `/watch?labelSelector=${"a,".repeat(1000)}`);
  await once(long.stream, "response");

  const refused = await get(session, "/watch");
  long.stream.close();
  await get(session, "/a");
  const short = ask(session, "/watch");
  const [headers] = await once(short.stream, "response");
  session.destroy();

  assert.deepEqual([refused.status, headers[":status"]], [429, 200]);
});

test("pipelined requests are answered in order, up to a limit", async () => {
  await using server = await open();
  const few = await server.tls();
  const many = (await server.tls()).resume();
  const closed = closing(many);
  const one = "GET /a HTTP/1.1\r\nhost: x\r\n\r\n";
  let text = "";
  few.on("data", (chunk: Buffer) => (text += chunk.toString()));

  many.write(one.repeat(1000));
  few.write(`${one.repeat(4)}GET /a HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`);

  await Promise.all([closed, closing(few)]);
  assert.equal(text.match(/HTTP\/1\.1 200 OK/g)?.length, 5);
});

const frame = (type: number, flags: number, streamId: number, payload: Buffer): Buffer => {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(streamId, 5);
  return Buffer.concat([head, payload]);
};
const preface = Buffer.concat([Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), frame(4, 0, 0, Buffer.alloc(0))]);
const floods = [
  { name: "PING", frames: frame(6, 0, 0, Buffer.alloc(8)) },
  { name: "PING acknowledgements", frames: frame(6, 1, 0, Buffer.alloc(8)) },
  { name: "SETTINGS", frames: frame(4, 0, 0, Buffer.from([0, 3, 0, 0, 0, 9])) },
  { name: "PRIORITY", frames: frame(2, 0, 1, Buffer.from([0, 0, 0, 3, 9])) },
  { name: "WINDOW_UPDATE", frames: frame(8, 0, 0, Buffer.from([0, 0, 0, 1])) },
  { name: "unknown", frames: frame(200, 0, 0, Buffer.alloc(64)) },
];
for (const { name, frames } of floods) {
  test(`a flood of ${name} frames ends its connection`, async () => {
    await using server = await open();
    const socket = tls.connect({ host: "127.0.0.1", port: server.port, ca, ALPNProtocols: ["h2"] });
    socket.on("error", ignore).resume();
    await once(socket, "secureConnect");
    const closed = closing(socket);

    socket.write(preface);
    for (let sent = 0; sent < 512 << 10; sent += frames.length * 1000) {
      const many = Buffer.concat(Array.from({ length: 1000 }, () => frames));
      if (socket.writable) await new Promise<void>((resolve) => socket.write(many, () => resolve()));
    }
    await server.clock.advance(1000);

    await closed;
  });
}

test("pipelined requests end with the connection", async () => {
  await using server = await open({ requestsPerUser: 4 });
  const session = await server.session();
  const request = (path: string) => `GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`;

  for (let i = 0; i < 4; i++) {
    const socket = await server.tls();
    socket.write(request("/watch") + request("/a") + request("/a"));
    await once(socket, "data");
    const closed = closing(socket);
    socket.destroy();
    await closed;
  }

  // The server may see the last connections close a little later.
  let status = 0;
  for (let i = 0; i < 100 && status !== 200; i++) ({ status } = await get(session, "/a"));
  assert.equal(status, 200);
  session.destroy();
});

test("a connection without a user makes room for the next when the server is full", async () => {
  await using server = await open({ connections: 2 });
  const sockets = [await server.tcp(), await server.tcp()];
  const session = await server.session();

  assert.equal((await get(session, "/a")).status, 200);

  session.destroy();
  for (const socket of sockets) socket.destroy();
});

test("an HTTP/1.1 connection continues after a body that was refused midway", async () => {
  await using server = await open({ bodyBytesPerUser: 64 << 10 });
  const socket = await server.tls();
  const answers: string[] = [];
  socket.on("data", (chunk: Buffer) => answers.push(...(chunk.toString().match(/HTTP\/1\.1 \d+/g) ?? [])));
  const answered = async (count: number) => {
    while (answers.length < count && !socket.destroyed) await Promise.race([once(socket, "data"), closing(socket)]);
  };

  socket.write("POST /a HTTP/1.1\r\nhost: x\r\ncontent-length: 250000\r\n\r\n");
  socket.write(Buffer.alloc(100_000));
  await answered(1);
  socket.write(Buffer.alloc(150_000));
  socket.write("GET /a HTTP/1.1\r\nhost: x\r\n\r\n");
  await answered(2);

  assert.deepEqual(answers, ["HTTP/1.1 429", "HTTP/1.1 200"]);
  socket.destroy();
});

test("unread watch events count for their user, and more are sent when some are read", async () => {
  await using server = await open({ unsentBytesPerUser: 4 << 20 });
  const fed = () => server.made.filter((what) => what === "fed").length;
  const sessions = await Promise.all(Array.from({ length: 8 }, () => server.session()));
  const streams = sessions.map((session) => session.request({ ":path": "/feed" }).on("error", ignore).pause());
  while (server.made.filter((what) => what === "/feed").length < 8) await nextTurn();
  await nextTurn();
  assert.equal(fed(), 5, "the fifth one exceeds the limit");

  for (const stream of streams) stream.resume();
  while (fed() < 16) await nextTurn();

  for (const session of sessions) session.destroy();
});

test("a client that speaks HTTP without TLS is told so, and cut", async () => {
  await using server = await open();
  const socket = await server.tcp();
  let heard = "";
  socket.on("data", (chunk: Buffer) => (heard += chunk.toString()));

  socket.write("GET /api HTTP/1.1\r\nhost: x\r\n\r\n");
  await once(socket, "close");

  assert.equal(heard, "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n");
  assert.deepEqual(server.made, []);
});
