import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import http2 from "node:http2";
import { type Duplex } from "node:stream";
import { type TLSSocket } from "node:tls";
import { type Peer } from "#api/exchange.ts";
import { StatusError } from "#api/status.ts";
import { type Clock } from "#lib/clock.ts";
import { type Log } from "#lib/log.ts";
import { http } from "#lib/node-http.ts";
import { drained } from "#lib/sockets.ts";
import { compressed } from "./compress.ts";
import { type Wire } from "./respond.ts";
import { type Served } from "./server.ts";
import { BodyCollector, bodyTooLarge, decompressed, maxBodyBytes, WireRequest } from "./wire-request.ts";

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  readonly key: string;
  readonly cert: string;
  /** Client certificates are verified against it. */
  readonly ca: string;
  readonly clock: Clock;
  readonly log: Log;
  peerOf(socket: TLSSocket): Peer;
}

export interface Listening extends AsyncDisposable {
  readonly port: number;
}

/** Sockets in, gauntlet in the middle, bytes out: HTTP/2 and HTTP/1.1 over TLS. */
export async function listen(
  serve: (request: WireRequest) => Promise<Served>,
  options: ListenOptions,
): Promise<Listening> {
  const { key, cert, ca } = options;
  const server = http2.createSecureServer({
    key,
    cert,
    ca,
    requestCert: true,
    rejectUnauthorized: false,
    allowHTTP1: true,
    settings: { maxConcurrentStreams: 1000, initialWindowSize: 1 << 20 },
    // Whole lists wait here for slow readers; what a watcher may hold back is limited by the watch itself.
    maxSessionMemory: 1000,
  });
  const edge = {
    serve,
    options,
    sessions: new Set<http2.ServerHttp2Session>(),
    sockets: new Set<TLSSocket>(),
    busy: new Set<object>(),
    watches: new Set<() => void>(),
    isClosing: false,
  };
  server.on("request", (request, response) => {
    // HTTP/2 requests are taken as streams below, without the compatibility layer.
    if (request.httpVersionMajor !== 1) return;
    const handled = onRequest(edge, request as unknown as IncomingMessage, response as unknown as ServerResponse);
    handled.catch((error: unknown) => giveUp(edge, request.socket, error));
  });
  server.removeAllListeners("stream");
  server.on("stream", (stream, headers) => {
    onStream(edge, stream as http2.ServerHttp2Stream, headers).catch((error: unknown) => giveUp(edge, stream, error));
  });
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    onUpgrade(edge, { request, socket, head }).catch((error: unknown) => giveUp(edge, socket, error));
  });
  server.on("session", (session) => onSession(edge, session));
  server.on("secureConnection", (socket) => track(edge.sockets, socket));
  server.on("tlsClientError", (error) => options.log.debug("tls handshake failed", { error: error.message }));
  await listening(server, options);
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : options.port;
  return { port, [Symbol.asyncDispose]: () => close(edge, server) };
}

interface Edge {
  readonly serve: (request: WireRequest) => Promise<Served>;
  readonly options: ListenOptions;
  readonly sessions: Set<http2.ServerHttp2Session>;
  readonly sockets: Set<TLSSocket>;
  /** HTTP/1.1 connections on which a request is being answered. */
  readonly busy: Set<object>;
  /** Ends each watch that is open. */
  readonly watches: Set<() => void>;
  isClosing: boolean;
}

/** Nothing could be sent, not even an error: one request ends, and nothing else. */
function giveUp({ options }: Edge, stream: Duplex, error: unknown): void {
  options.log.error("an answer could not be sent", { error });
  stream.destroy();
}

function listening(server: http2.Http2SecureServer, { host, port }: ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, 1024, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

const peers = new WeakMap<object, Peer>();

function onSession(edge: Edge, session: http2.ServerHttp2Session): void {
  track(edge.sessions, session);
  session.on("error", (error) => edge.options.log.debug("http2 session failed", { error: String(error) }));
  peers.set(session, edge.options.peerOf(session.socket as TLSSocket));
}

function track<T extends { once(event: "close", listener: () => void): unknown }>(set: Set<T>, member: T): void {
  set.add(member);
  member.once("close", () => set.delete(member));
}

const noPeer: Peer = { address: "" };

async function onStream(
  edge: Edge,
  stream: http2.ServerHttp2Stream,
  headers: http2.IncomingHttpHeaders,
): Promise<void> {
  stream.on("error", () => {}); // The peer reset it: `close` follows.
  const peer = (stream.session && peers.get(stream.session)) ?? noPeer;
  const request = new WireRequest(
    headers[":method"] ?? "GET",
    headers[":path"] ?? "/",
    headers as WireRequest["headers"],
    peer,
  );
  stream.once("close", () => request.gone());
  try {
    if (!stream.readableEnded && hasBody(request.method)) {
      if (headers.expect === "100-continue") stream.additionalHeaders({ ":status": 100 });
      request.body = await readBody(stream, request);
    }
    const served = await edge.serve(request);
    if (served.wire.type === "body") request.answered();
    await respondHttp2(edge, stream, served);
  } catch (error) {
    if (stream.destroyed) return;
    // The rest of the body is not read.
    stream.once("finish", () => stream.close(http2.constants.NGHTTP2_NO_ERROR));
    await respondHttp2(edge, stream, await edge.serve(faulty(request, error)));
  }
}

const hasBody = (method: string): boolean => method !== "GET" && method !== "HEAD";

/** Reading failed before the gauntlet could run: it runs to say so, in the client's encoding. */
function faulty(request: WireRequest, error: unknown): WireRequest {
  return Object.assign(request, { fault: error });
}

function readBody(stream: http2.ServerHttp2Stream | IncomingMessage, request: WireRequest): Promise<Uint8Array> {
  const length = Number(request.headers["content-length"] ?? "0");
  if (length > maxBodyBytes) return Promise.reject(bodyTooLarge());
  return new Promise((resolve, reject) => {
    const collector = new BodyCollector();
    stream.on("data", (chunk: Buffer) => {
      try {
        collector.add(chunk);
      } catch (error) {
        stream.pause();
        stream.removeAllListeners("data");
        reject(error);
      }
    });
    stream.once("end", () => {
      const encoding = request.headers["content-encoding"];
      if (!encoding) resolve(collector.whole());
      else decompressed(collector.whole(), encoding).then(resolve, reject);
    });
    stream.once("close", () => {
      if (stream.readableEnded) return;
      reject(new StatusError("BadRequest", "the client hung up before the body was complete"));
    });
  });
}

async function respondHttp2(edge: Edge, stream: http2.ServerHttp2Stream, served: Served): Promise<void> {
  if (stream.destroyed || stream.headersSent) return;
  const { wire } = served;
  if (wire.type === "upgrade") {
    stream.respond({ ":status": 400 });
    stream.end("this needs an HTTP/1.1 upgrade\n");
    return;
  }
  if (wire.type === "body") {
    const { chunks, encoding } = await compressed(wire, served.acceptEncoding);
    stream.respond(headersOf(served, encoding));
    writeChunks(stream, chunks);
    return;
  }
  stream.respond(headersOf(served));
  if (wire.type === "watch") return startWatch(edge, stream, wire);
  await pump(wire.body, stream);
}

const nothing = new Uint8Array();

function writeChunks(stream: NodeJS.WritableStream, chunks: readonly Uint8Array[]): void {
  const last = chunks.length - 1;
  for (let i = 0; i < last; i++) stream.write(chunks[i] ?? nothing);
  stream.end(chunks[last] ?? nothing);
}

function headersOf({ wire, headers, warnings }: Served, encoding?: string): http2.OutgoingHttpHeaders {
  const result: http2.OutgoingHttpHeaders = {
    ":status": wire.type === "watch" || wire.type === "upgrade" ? 200 : wire.status,
    "content-type": wire.type === "upgrade" ? "" : wire.contentType,
    "cache-control": "no-cache, private",
    ...headers,
  };
  if (encoding) Object.assign(result, { "content-encoding": encoding, vary: "Accept-Encoding" });
  if (wire.type !== "watch" && wire.type !== "upgrade" && wire.headers) Object.assign(result, wire.headers);
  if (warnings.length > 0) Object.assign(result, { warning: warnings });
  return result;
}

/** Events are written as they come; the watch ends when either side says so. */
function startWatch(
  edge: Edge,
  stream: http2.ServerHttp2Stream | ServerResponse,
  wire: Extract<Wire, { type: "watch" }>,
): void {
  let isOver = false;
  let stop = () => {};
  const leave = () => {
    isOver = true;
    edge.watches.delete(end);
    stop();
  };
  const end = () => {
    leave();
    stream.end();
  };
  edge.watches.add(end);
  stream.once("close", leave);
  stop = wire.start({
    write: (bytes) => void (isOver || stream.write(bytes)),
    get buffered() {
      return stream.writableLength;
    },
    end,
    cut() {
      leave();
      stream.destroy();
    },
  });
  if (isOver) stop();
}

async function pump(body: AsyncIterable<Uint8Array>, stream: http2.ServerHttp2Stream | ServerResponse): Promise<void> {
  try {
    for await (const chunk of body) {
      if (stream.destroyed) return;
      if (!stream.write(chunk)) await drained(stream);
    }
    stream.end();
  } catch (error) {
    stream.destroy(error instanceof Error ? error : undefined);
  }
}

async function onRequest(edge: Edge, message: IncomingMessage, response: ServerResponse): Promise<void> {
  const request = http1Request(edge, message);
  const { socket } = message;
  edge.busy.add(socket);
  response.once("close", () => {
    edge.busy.delete(socket);
    request.gone();
    if (edge.isClosing) socket.destroy();
  });
  response.on("error", () => {});
  let served: Served;
  try {
    if (hasBody(request.method)) request.body = await readBody(message, request);
    served = await edge.serve(request);
    if (served.wire.type === "body") request.answered();
  } catch (error) {
    response.setHeader("connection", "close"); // The rest of the body is not read.
    served = await edge.serve(faulty(request, error));
  }
  await respondHttp1(edge, response, served);
}

function http1Request(edge: Edge, message: IncomingMessage): WireRequest {
  const socket = message.socket as TLSSocket;
  let peer = peers.get(socket);
  if (!peer) {
    peer = edge.options.peerOf(socket);
    peers.set(socket, peer);
  }
  return new WireRequest(message.method ?? "GET", message.url ?? "/", message.headers as WireRequest["headers"], peer);
}

async function respondHttp1(edge: Edge, response: ServerResponse, served: Served): Promise<void> {
  const { wire } = served;
  if (wire.type === "upgrade") {
    response.writeHead(400).end("this needs an upgrade\n");
    return;
  }
  const body = wire.type === "body" ? await compressed(wire, served.acceptEncoding) : undefined;
  const { ":status": status, ...headers } = headersOf(served, body?.encoding);
  if (body) headers["content-length"] = body.chunks.reduce((sum, { length }) => sum + length, 0);
  response.writeHead(Number(status), headers as OutgoingHttpHeaders);
  if (body) return writeChunks(response, body.chunks);
  response.flushHeaders();
  if (wire.type === "watch") return startWatch(edge, response, wire);
  if (wire.type === "stream") await pump(wire.body, response);
}

async function onUpgrade(
  edge: Edge,
  { request: message, socket, head }: { request: IncomingMessage; socket: Duplex; head: Buffer },
): Promise<void> {
  socket.on("error", () => {});
  const request = http1Request(edge, message);
  socket.once("close", () => request.gone());
  const served = await edge.serve(request);
  if (served.wire.type === "upgrade") return served.wire.accept({ socket, head });
  // Refused: an ordinary answer on the raw socket.
  const response = new http.ServerResponse(message);
  response.assignSocket(socket as never);
  response.setHeader("connection", "close");
  response.once("finish", () => socket.end());
  await respondHttp1(edge, response, served);
}

/** How long what is under way may take once the server is to end. */
const patienceMs = 2000;

/** No new work, watches ended, what is under way finished, then the sockets. */
async function close(edge: Edge, server: http2.Http2SecureServer): Promise<void> {
  edge.isClosing = true;
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  for (const end of edge.watches) end();
  for (const session of edge.sessions) session.close();
  for (const socket of edge.sockets) {
    if (socket.alpnProtocol !== "h2" && !edge.busy.has(socket)) socket.destroy();
  }
  const cancel = edge.options.clock.after(patienceMs, () => {
    edge.options.log.warn("cutting off what did not end in time", { connections: edge.sockets.size });
    for (const session of edge.sessions) session.destroy();
    for (const socket of edge.sockets) socket.destroy();
  });
  await closed;
  cancel();
}
