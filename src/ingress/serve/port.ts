import type { IncomingMessage, Server, ServerResponse } from "node:http";
import http2 from "node:http2";
import net, { type Socket } from "node:net";
import { type Duplex } from "node:stream";
import tls from "node:tls";
import { type Clock } from "#lib/async/clock.ts";
import { http } from "#lib/net/node-http.ts";
import { connectionKey, IdleTimer, ignore } from "#lib/net/sockets.ts";
import { type Stranger, Strangers } from "#lib/net/strangers.ts";
import { type Log } from "#lib/process/log.ts";
import { type TlsRoute, type TlsTable } from "../routing/tls-table.ts";
import { refuse } from "./call.ts";
import { type CertificateIndex } from "./certificates.ts";
import { peek } from "./peek.ts";
import { type RelayedConnection } from "./relay.ts";
import { RequestLimit, type RequestLimits } from "./request-limit.ts";
import { isUpgradable } from "./upgrade.ts";

export interface PortOptions {
  readonly host: string;
  readonly port: number;
  readonly isSecure: boolean;
  readonly clock: Clock;
  readonly log: Log;
  /** How many requests may be in progress. */
  readonly requestLimits?: RequestLimits | undefined;
  /** The current certificates, for every new connection. */
  certificates(): CertificateIndex;
  /** Where connections go by name; undefined if all are for HTTP. */
  names(): TlsTable | undefined;
  onRequest(request: IncomingMessage, response: ServerResponse): void;
  onConnection(connection: RelayedConnection): void;
  onUpgrade(upgrade: { readonly request: IncomingMessage; readonly socket: Duplex; readonly head: Buffer }): void;
}

export interface Port extends AsyncDisposable {
  readonly port: number;
}

/** A client's connection. */
class Connection implements Stranger {
  readonly address: string;
  readonly raw: Socket;
  isSecured = false;
  /** Requests in progress. */
  requests = 0;
  session: http2.ServerHttp2Session | undefined;
  /** Where it goes after the handshake, if not to HTTP. */
  route: TlsRoute | undefined;

  constructor(raw: Socket) {
    this.raw = raw;
    this.address = raw.remoteAddress ?? "";
  }
  /** Idle connections make room for new ones before busy ones do. */
  get hasSpoken(): boolean {
    return this.requests > 0;
  }
}

const limits = { all: 8_192, perAddress: 4_096 };
/** From the connection to the first byte of a request, with the handshake. */
const firstByteMs = 10_000;
const headersMs = 15_000;
const keepAliveMs = 75_000;
const maxHeaderBytes = 32 << 10;
const drainMs = 5_000;

/** Listens for HTTP/1.1 and HTTP/2, with or without TLS. Closing it lets requests in progress end. */
export async function openPort(options: PortOptions): Promise<Port> {
  const edge = new Edge(options);
  const front = net.createServer({ noDelay: true, keepAlive: true }, (raw) => edge.accept(raw));
  await new Promise<void>((resolve, reject) => {
    front.once("error", reject);
    front.listen(options.port, options.host, 1024, resolve);
  });
  front.on("error", (error) => options.log.warn("the ingress cannot accept a connection", { error: error.message }));
  const address = front.address();
  return {
    port: typeof address === "object" && address ? address.port : options.port,
    async [Symbol.asyncDispose]() {
      const closed = new Promise<void>((resolve) => front.close(() => resolve()));
      await edge.drain();
      await closed;
    },
  };
}

class Edge {
  readonly #options: PortOptions;
  readonly #http1: Server;
  readonly #http2: http2.Http2Server;
  readonly #secure: tls.Server | undefined;
  /** For what is not HTTP. Most clusters never need it. */
  #plain: tls.Server | undefined;
  readonly #connections = new Map<string, Connection>();
  readonly #strangers = new Strangers<Connection>(limits);
  readonly #inProgress: RequestLimit;
  #isClosing = false;
  #onEmpty: () => void = ignore;

  constructor(options: PortOptions) {
    this.#options = options;
    this.#inProgress = new RequestLimit(options.requestLimits);
    this.#http1 = this.#serveHttp1();
    this.#http2 = this.#serveHttp2();
    this.#secure = options.isSecure ? this.#serveTls({ ALPNProtocols: ["h2", "http/1.1"] }) : undefined;
  }

  accept(raw: Socket): void {
    raw.on("error", ignore);
    if (this.#isClosing) return void raw.destroy();
    this.#strangers.surplus(raw.remoteAddress ?? "")?.raw.destroy();
    const connection = new Connection(raw);
    const key = connectionKey(raw);
    this.#connections.set(key, connection);
    this.#strangers.add(connection);
    const cancel = this.#options.clock.after(firstByteMs, () => {
      if (!connection.isSecured) raw.destroy();
    });
    raw.once("close", () => {
      cancel();
      this.#strangers.delete(connection);
      this.#connections.delete(key);
      if (this.#connections.size === 0) this.#onEmpty();
    });
    if (!this.#secure) this.#greet(raw, connection);
    else if (this.#options.names()) this.#lead(connection, this.#secure);
    else this.#secure.emit("connection", raw);
  }

  /** The name that the client asks for tells whether TLS ends here. */
  #lead(connection: Connection, secure: tls.Server): void {
    const { raw } = connection;
    peek(raw, (opening) => {
      if (opening.type === "too long") return void raw.destroy();
      // What we cannot read is answered as TLS does it.
      const name = opening.type === "hello" ? opening.serverName : undefined;
      const decision = this.#options.names()?.find(name) ?? "http";
      if (decision === "http") return void secure.emit("connection", raw);
      if (decision === "refuse") return void raw.destroy();
      raw.allowHalfOpen = true;
      if (!decision.isTerminated) return this.#relay(raw, connection, decision);
      connection.route = decision;
      // The protocols that clients offer are those of the backend, so none is chosen here.
      this.#plain ??= this.#serveTls({});
      this.#plain.emit("connection", raw);
    });
  }

  #relay(socket: Duplex, connection: Connection, route: TlsRoute): void {
    const { raw } = connection;
    connection.isSecured = true;
    const end = this.#isClosing ? undefined : this.#inProgress.begin(connection.address);
    if (!end) return void raw.destroy();
    raw.once("close", end);
    connection.requests++;
    this.#options.onConnection({ socket, raw, route });
  }

  /** Without TLS, the first bytes tell which HTTP it is. */
  #greet(socket: Socket, connection: Connection): void {
    socket.once("data", (chunk: Buffer) => {
      connection.isSecured = true;
      socket.pause();
      socket.unshift(chunk);
      const isHttp2 = chunk.length >= 3 && preface.startsWith(chunk.toString("latin1", 0, preface.length));
      // HTTP/2 takes the bytes itself, and must get them from the first on.
      if (isHttp2) return void this.#http2.emit("connection", socket);
      this.#http1.emit("connection", socket);
      socket.resume();
    });
  }

  #serveTls(protocols: Pick<tls.TlsOptions, "ALPNProtocols">): tls.Server {
    const { certificates, log } = this.#options;
    const server = tls.createServer({
      ...protocols,
      minVersion: "TLSv1.2",
      handshakeTimeout: firstByteMs,
      SNICallback: (name, done) => {
        const found = certificates().find(name);
        if (found) done(null, found.context);
        else done(new Error(`no certificate for ${name}`));
      },
    });
    server.on("secureConnection", (socket) => {
      socket.on("error", ignore);
      const connection = this.#connections.get(connectionKey(socket));
      if (!connection) return void socket.destroy();
      if (connection.route) return this.#relay(socket, connection, connection.route);
      connection.isSecured = true;
      (socket.alpnProtocol === "h2" ? this.#http2 : this.#http1).emit("connection", socket);
    });
    server.on("tlsClientError", (error) => log.debug("a TLS handshake failed", { error: error.message }));
    return server;
  }

  #serveHttp1(): Server {
    const server = http.createServer({
      maxHeaderSize: maxHeaderBytes,
      headersTimeout: headersMs,
      // Bodies are streams of any length; whoever reads them limits them.
      requestTimeout: 0,
      keepAliveTimeout: keepAliveMs,
      connectionsCheckingInterval: 5_000,
      shouldUpgradeCallback: isUpgradable,
    });
    // Node would leave out the headers above its limit without a word. Their bytes are limited.
    server.maxHeadersCount = 0;
    server.on("request", (request, response) => this.#take(request, response));
    server.on("upgrade", (request, socket, head) => {
      const connection = this.#connections.get(connectionKey(request.socket));
      const end = connection && !this.#isClosing ? this.#inProgress.begin(connection.address) : undefined;
      if (!connection || !end) return void socket.destroy();
      socket.once("close", end);
      connection.requests++;
      this.#options.onUpgrade({ request, socket, head });
    });
    return server;
  }

  #serveHttp2(): http2.Http2Server {
    const server = http2.createServer({
      settings: { maxConcurrentStreams: 128, initialWindowSize: 256 << 10, maxHeaderListSize: maxHeaderBytes },
      maxSessionMemory: 16,
      maxHeaderListPairs: 256,
      maxSessionInvalidFrames: 100,
      maxSessionRejectedStreams: 50,
      streamResetBurst: 200,
      streamResetRate: 20,
    });
    server.on("session", (session) => {
      session.on("error", ignore);
      const connection = session.socket && this.#connections.get(connectionKey(session.socket));
      if (!connection) return session.destroy();
      connection.session = session;
      this.#endWhenIdle(session, connection);
    });
    server.on("request", (request, response) =>
      this.#take(request as unknown as IncomingMessage, response as unknown as ServerResponse),
    );
    server.on("sessionError", ignore);
    return server;
  }

  #endWhenIdle(session: http2.ServerHttp2Session, connection: Connection): void {
    const { clock } = this.#options;
    const check = () => {
      if (connection.requests === 0) session.close();
      else timer = new IdleTimer(clock, keepAliveMs, check);
    };
    let timer = new IdleTimer(clock, keepAliveMs, check);
    session.on("stream", () => timer.touch());
    session.once("close", () => timer.stop());
  }

  #take(request: IncomingMessage, response: ServerResponse): void {
    const connection = this.#connections.get(connectionKey(request.socket));
    if (!connection) return void response.destroy();
    request.on("error", ignore);
    response.on("error", ignore);
    const end = this.#inProgress.begin(connection.address);
    if (!end) return refuse({ request, response }, { status: 503, message: "too many requests are in progress" });
    connection.requests++;
    response.once("close", () => {
      end();
      connection.requests--;
      if (this.#isClosing && connection.requests === 0 && !connection.session) connection.raw.destroySoon();
    });
    if (this.#isClosing && !connection.session) response.setHeader("connection", "close");
    this.#options.onRequest(request, response);
  }

  /** Ends idle connections at once and the others with their last request, or after a while. */
  async drain(): Promise<void> {
    this.#isClosing = true;
    const empty = new Promise<void>((resolve) => {
      this.#onEmpty = resolve;
    });
    for (const connection of this.#connections.values()) {
      if (connection.session) connection.session.close();
      else if (connection.requests === 0) connection.raw.destroy();
    }
    if (this.#connections.size > 0) {
      const cancel = this.#options.clock.after(drainMs, () => {
        for (const { raw } of this.#connections.values()) raw.destroy();
      });
      await empty;
      cancel();
    }
    this.#http1.close();
    this.#http2.close();
  }
}

const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
