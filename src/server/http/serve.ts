import { constants } from "node:crypto";
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import http2 from "node:http2";
import net from "node:net";
import { type Duplex } from "node:stream";
import { type TLSSocket } from "node:tls";
import { type Peer } from "#api/exchange.ts";
import { type Clock } from "#lib/async/clock.ts";
import { http } from "#lib/net/node-http.ts";
import { ignore } from "#lib/net/sockets.ts";
import { mayUpgrade } from "#lib/net/upgrade.ts";
import { type Log } from "#lib/process/log.ts";
import { errorCode } from "#lib/text/error-code.ts";
import { type Served } from "../server.ts";
import { Callers } from "./callers.ts";
import { compressed } from "./compress.ts";
import { type Connection, ServerConnections } from "./connections.ts";
import { type Arrival, Intake } from "./intake.ts";
import { defaultLimits, type Limits, strangerSettings } from "./limits.ts";
import { headersOf, pump, sizeOf, writeChunks } from "./send.ts";
import { WatchStream } from "./watch-stream.ts";
import { type Entry, WireRequest } from "./wire-request.ts";

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  readonly key: string;
  readonly cert: string;
  /** The authority that verifies client certificates. */
  readonly ca: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Default: `defaultLimits`. */
  readonly limits?: Limits;
  peerOf(socket: TLSSocket): Peer;
}

export interface Listening extends AsyncDisposable {
  readonly port: number;
  /** New connections use this certificate and this authority; open ones continue. */
  renew(pair: Pick<ListenOptions, "key" | "cert" | "ca">): void;
  /** Bytes of bodies and responses that are kept until clients have sent or read the rest. */
  heldBytes(): number;
}

/** Serves HTTP/2 and HTTP/1.1 over TLS: passes requests to the server and writes its responses. */
export async function listen(
  serve: (request: WireRequest) => Promise<Served>,
  options: ListenOptions,
): Promise<Listening> {
  const { key, cert, ca, clock, log } = options;
  const server = http2.createSecureServer({
    key,
    cert,
    ca,
    ciphers,
    requestCert: true,
    rejectUnauthorized: false,
    allowHTTP1: true,
    settings: strangerSettings,
    // One large list may exceed Node's default; `room` limits how many wait for a slow reader.
    maxSessionMemory: 1000,
    // Node would close an idle connection after 6 s. The deadlines are those of `connections`.
    http1Options: { keepAliveTimeout: 0 },
  });
  const callers = new Callers(options.limits ?? defaultLimits);
  const connections = new ServerConnections({ callers, clock, log });
  const intake = new Intake();
  const edge: Edge = { serve, options, callers, connections, intake, watches: new Set(), isClosing: false };
  takeRequests(edge, server);
  // TCP is accepted here and not by the TLS server, so that connections count from the beginning.
  const front = net.createServer({ noDelay: true, pauseOnConnect: true }, (raw) => {
    raw.on("error", ignore);
    if (edge.isClosing) return void raw.destroy();
    const { address } = connections.accept(raw);
    const start = (): unknown => !raw.destroyed && server.emit("connection", raw);
    intake.take({ rank: "stranger", owner: address, laterMs: handshakeMs, start });
  });
  await listening(front, options);
  front.on("error", (error) => log.warn("cannot accept a connection", { error: String(error) }));
  const address = front.address();
  const port = typeof address === "object" && address ? address.port : options.port;
  return {
    port,
    renew: (pair) => server.setSecureContext({ ...pair, ciphers }),
    heldBytes: () => callers.heldBytes,
    [Symbol.asyncDispose]: () => close(edge, front),
  };
}

/** What a TLS handshake costs about, after its connection was accepted. */
const handshakeMs = 1;

/** As Go's servers, AES with 128 bits before 256: it is as safe, and a long list costs a tenth less. */
const quickest = "TLS_AES_128_GCM_SHA256";
const ciphers = [quickest, ...constants.defaultCoreCipherList.split(":").filter((name) => name !== quickest)].join(":");

function takeRequests(edge: Edge, server: http2.Http2SecureServer): void {
  const take = (request: http2.Http2ServerRequest, response: http2.Http2ServerResponse): void => {
    // HTTP/2 requests are handled as streams below, without the compatibility layer.
    if (request.httpVersionMajor !== 1) return;
    onRequest(edge, request as unknown as IncomingMessage, response as unknown as ServerResponse);
  };
  server.on("request", take);
  server.on("checkContinue", take);
  server.removeAllListeners("stream");
  server.on("stream", (stream, headers, _flags, rawHeaders) => {
    onStream(edge, stream as http2.ServerHttp2Stream, { headers, rawHeaders });
  });
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    onUpgrade(edge, { request, socket, head }).catch((error: unknown) => giveUp(edge, socket, error));
  });
  server.on("session", (session) => onSession(edge, session));
  server.prependListener("secureConnection", (socket) => onSecured(edge, socket));
  server.on("tlsClientError", (error, socket) => onHandshakeError(edge, error, socket));
}

/** Go's words, which people search for. */
const plainHttp = "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";

function onHandshakeError({ options, connections }: Edge, error: Error, socket: TLSSocket): void {
  options.log.debug("tls handshake failed", { error: error.message });
  if (errorCode(error) === "ERR_SSL_HTTP_REQUEST") connections.find(socket)?.endWith(plainHttp);
}

interface Edge {
  readonly serve: (request: WireRequest) => Promise<Served>;
  readonly options: ListenOptions;
  readonly callers: Callers;
  readonly connections: ServerConnections;
  readonly intake: Intake;
  /** Open watches. */
  readonly watches: Set<WatchStream>;
  isClosing: boolean;
}

/** Nothing could be sent, not even an error: only this request fails. */
function giveUp({ options }: Edge, stream: Duplex, error: unknown): void {
  options.log.error("cannot send a response", { error });
  stream.destroy();
}

function listening(server: net.Server, { host, port }: ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, 1024, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

/** By session for HTTP/2, by socket for HTTP/1.1. */
const entries = new WeakMap<object, Entry>();

function onSecured({ options, callers, connections }: Edge, socket: TLSSocket): void {
  const connection = connections.find(socket);
  if (!connection) return void socket.destroy();
  connection.phase = socket.alpnProtocol === "h2" ? "http2" : "http1";
  entries.set(socket, { connection, connections, callers, clock: options.clock });
  connections.secured(connection, options.peerOf(socket));
}

function onSession({ options, callers, connections }: Edge, session: http2.ServerHttp2Session): void {
  session.on("error", (error) => options.log.debug("http2 session failed", { error: String(error) }));
  const connection = session.socket && connections.find(session.socket);
  if (!connection) return session.destroy();
  connection.session = session;
  entries.set(session, { connection, connections, callers, clock: options.clock });
}

function onStream(
  edge: Edge,
  stream: http2.ServerHttp2Stream,
  { headers, rawHeaders }: { readonly headers: http2.IncomingHttpHeaders; readonly rawHeaders: readonly string[] },
): void {
  stream.on("error", ignore); // The peer has reset it, and `close` follows.
  stream.destroy = destroyQuietly;
  const entry = stream.session && entries.get(stream.session);
  if (!entry || !edge.connections.openStream(entry.connection)) {
    return stream.close(http2.constants.NGHTTP2_REFUSED_STREAM);
  }
  const { ":method": method = "GET", ":path": path = "/" } = headers;
  const request = new WireRequest(method, path, { joined: headers as WireRequest["headers"], raw: rawHeaders }, entry);
  stream.once("close", () => request.gone());
  if (!stream.endAfterHeaders && hasBody(method)) request.source = stream;
  const start = (): void => {
    if (!stream.destroyed) serveHttp2(edge, { stream, request }).catch((error) => giveUp(edge, stream, error));
  };
  edge.intake.take(arrivalOf(entry.connection, start));
}

/**
 * A stream whose request has a body is closed before Node knows that its last bytes were sent. Node then makes an error for
 * those who wait for its end, who do not exist. With its stack, the error costs a tenth of a short write.
 */
function destroyQuietly(this: http2.ServerHttp2Stream, error?: Error): http2.ServerHttp2Stream {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return (Object.getPrototypeOf(this) as http2.ServerHttp2Stream).destroy.call(this, error);
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

const arrivalOf = (connection: Connection, start: () => void): Arrival => {
  const { caller } = connection;
  const rank = !caller ? "stranger" : caller.isComponent ? "component" : "user";
  return { rank, owner: caller ?? connection, start };
};

async function serveHttp2(edge: Edge, { stream, request }: Exchange2): Promise<void> {
  const served = await edge.serve(request);
  request.served();
  // The rest of the body is not read, and a stream that the client leaves half open is not kept.
  if (!stream.endAfterHeaders && !stream.readableEnded) {
    stream.once("finish", () => {
      stream.close(http2.constants.NGHTTP2_NO_ERROR);
      stream.resume();
    });
  }
  await respondHttp2(edge, { stream, request }, served);
}

const hasBody = (method: string): boolean => method !== "GET" && method !== "HEAD";

interface Exchange2 {
  readonly stream: http2.ServerHttp2Stream;
  readonly request: WireRequest;
}

async function respondHttp2(edge: Edge, { stream, request }: Exchange2, served: Served): Promise<void> {
  if (stream.destroyed || stream.headersSent) return;
  const { wire } = served;
  if (wire.type === "upgrade") {
    stream.respond({ ":status": 400 });
    stream.end("this needs an HTTP/1.1 upgrade\n");
    return;
  }
  if (wire.type === "body") {
    request.answered(sizeOf(wire.chunks));
    const body = compressed(wire, served.acceptEncoding);
    const { chunks, encoding } = body instanceof Promise ? await body : body;
    // The client may have left while its response was compressed.
    if (stream.destroyed) return;
    stream.respond(headersOf(served, encoding));
    writeChunks(stream, chunks);
    return;
  }
  request.goesOn();
  stream.respond(headersOf(served));
  if (wire.type === "watch") return new WatchStream({ stream, request }, watchDeps(edge)).start(wire);
  await pump(wire.body, stream);
}

const watchDeps = ({ options, watches }: Edge) => ({ clock: options.clock, watches });

/** Nobody pipelines many requests, except to fill the memory. */
const maxPipelined = 16;
const maxDroppedBytes = 256 << 10;

function onRequest(edge: Edge, message: IncomingMessage, response: ServerResponse): void {
  const { socket } = message;
  const entry = entries.get(socket);
  if (!entry || entry.connection.streams >= maxPipelined || !edge.connections.openStream(entry.connection)) {
    return void socket.destroy();
  }
  const request = http1Request(message, entry);
  const closed = Promise.withResolvers<void>();
  const end = () => {
    request.gone();
    closed.resolve();
    if (edge.isClosing) socket.destroy();
  };
  response.once("close", end);
  response.on("error", ignore);
  if (hasBody(request.method)) request.source = message;
  const start = (): void => {
    // When the connection ends, Node closes only the current response, not those queued behind it.
    if (socket.destroyed) return end();
    serveHttp1(edge, { message, response, request }).catch((error) => giveUp(edge, socket, error));
  };
  const take = (): void => edge.intake.take(arrivalOf(entry.connection, start));
  // One after the other: a response is not made before the previous one is sent.
  const ahead = lastAnswers.get(entry.connection);
  lastAnswers.set(entry.connection, closed.promise);
  if (ahead && entry.connection.streams > 1) void ahead.then(take);
  else take();
}
const lastAnswers = new WeakMap<Connection, Promise<void>>();

async function serveHttp1(
  edge: Edge,
  { message, response, request }: Exchange1 & { readonly message: IncomingMessage },
): Promise<void> {
  const served = await edge.serve(request);
  request.served();
  if (!message.complete) leaveBody(message, response);
  await respondHttp1(edge, { response, request }, served);
}

/** A little of the rest of a refused body is read and dropped, like Go does, to keep the connection. */
function leaveBody(message: IncomingMessage, response: ServerResponse): void {
  const isShort = Number(message.headers["content-length"]) <= maxDroppedBytes;
  if (isShort) response.once("finish", () => message.resume());
  else response.setHeader("connection", "close");
}

const http1Request = ({ method = "GET", url = "/", headers, rawHeaders }: IncomingMessage, entry: Entry): WireRequest =>
  new WireRequest(method, url, { joined: headers as WireRequest["headers"], raw: rawHeaders }, entry);

interface Exchange1 {
  readonly response: ServerResponse;
  readonly request: WireRequest;
}

async function respondHttp1(edge: Edge, { response, request }: Exchange1, served: Served): Promise<void> {
  const { wire } = served;
  if (wire.type === "upgrade") {
    response.writeHead(400).end("this needs an upgrade\n");
    return;
  }
  if (wire.type === "body") request.answered(sizeOf(wire.chunks));
  else request.goesOn();
  const body = wire.type === "body" ? await compressed(wire, served.acceptEncoding) : undefined;
  const { ":status": status, ...headers } = headersOf(served, body?.encoding);
  if (body) headers["content-length"] = sizeOf(body.chunks);
  response.writeHead(Number(status), headers as OutgoingHttpHeaders);
  if (body) return writeChunks(response, body.chunks);
  response.flushHeaders();
  if (wire.type === "watch") return new WatchStream({ stream: response, request }, watchDeps(edge)).start(wire);
  if (wire.type === "stream") await pump(wire.body, response);
}

const bodyWithUpgrade = [
  "HTTP/1.1 400 Bad Request",
  "connection: close",
  "content-type: text/plain",
  "content-length: 38",
  "",
  "a request for an upgrade has no body\r\n",
].join("\r\n");

async function onUpgrade(
  edge: Edge,
  { request: message, socket, head }: { request: IncomingMessage; socket: Duplex; head: Buffer },
): Promise<void> {
  socket.on("error", ignore);
  // Before anything is done: half of a request must not be served.
  if (!mayUpgrade(message)) return void socket.end(bodyWithUpgrade);
  const entry = entries.get(message.socket);
  if (!entry || !edge.connections.openStream(entry.connection)) return void socket.destroy();
  const request = http1Request(message, entry);
  socket.once("close", () => request.gone());
  const served = await edge.serve(request);
  request.served();
  if (served.wire.type === "upgrade") {
    entry.connection.phase = "upgraded";
    request.goesOn();
    return served.wire.accept({ socket, head });
  }
  // Refused: an ordinary response on the raw socket.
  const response = new http.ServerResponse(message);
  response.assignSocket(socket as never);
  response.setHeader("connection", "close");
  response.once("finish", () => socket.end());
  await respondHttp1(edge, { response, request }, served);
}

/** How long requests in progress may take after the shutdown begins. */
const patienceMs = 2000;

/** Stops accepting work, ends watches, waits for requests in progress, then closes the sockets. */
async function close(edge: Edge, front: net.Server): Promise<void> {
  const { connections, options, watches } = edge;
  edge.isClosing = true;
  const closed = new Promise<void>((resolve) => front.close(() => resolve()));
  for (const watch of watches) watch.end();
  for (const connection of connections) {
    if (connection.session) connection.session.close();
    else if (connection.streams === 0) connection.cut();
  }
  const cancel = options.clock.after(patienceMs, () => {
    options.log.warn("cutting connections that did not end in time", { connections: connections.size });
    for (const connection of connections) connection.cut();
  });
  await closed;
  cancel();
  connections.close();
}
