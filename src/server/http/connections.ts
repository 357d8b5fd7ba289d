import type { ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import { type Peer } from "#api/exchange.ts";
import { type Clock } from "#lib/async/clock.ts";
import { connectionKey } from "#lib/net/sockets.ts";
import { type Stranger, Strangers } from "#lib/net/strangers.ts";
import { type Log } from "#lib/process/log.ts";
import { type Caller, type Callers } from "./callers.ts";
import { type Limits, userSettings } from "./limits.ts";

/** Something with a deadline, such as a body that is being received. */
export interface Receiving {
  readonly startedMs: number;
  /** The deadline has passed. */
  expire(): void;
}

/** One TCP connection, from before TLS to its end, and what is held for it. */
export class Connection implements Stranger {
  readonly raw: Socket;
  readonly address: string;
  readonly openedMs: number;
  phase: "handshake" | "http1" | "http2" | "upgraded" = "handshake";
  peer: Peer;
  session: ServerHttp2Session | undefined;
  /** The user of its first authorised request. */
  caller: Caller | undefined;
  /** Nobody has been authenticated on it, or only as anonymous. */
  isStranger = true;
  /** Open streams, or requests of HTTP/1.1. */
  streams = 0;
  /** Since when it has no streams, and how much had been read by then. */
  idleSinceMs: number;
  idleBytesRead = 0;
  /** Bytes of responses that the client has not read. */
  unsentBytes = 0;
  readonly receiving = new Set<Receiving>();
  /** Since the last sweep. */
  requests = 0;
  bodyBytes = 0;
  readonly swept: Swept;

  constructor(raw: Socket, nowMs: number) {
    this.raw = raw;
    this.address = raw.remoteAddress ?? "";
    this.peer = { address: this.address };
    this.openedMs = nowMs;
    this.idleSinceMs = nowMs;
    this.swept = { bytesRead: 0, bytesWritten: 0, headersSinceMs: undefined, writtenMs: nowMs, atMs: nowMs };
  }

  /** Says something without TLS, and closes the connection. */
  endWith(text: string): void {
    this.raw.end(text, () => this.raw.destroy());
  }

  get hasSpoken(): boolean {
    return this.raw.bytesRead > 0;
  }
  get isSecured(): boolean {
    return this.phase !== "handshake";
  }

  /** Closes it without sending what is pending. */
  cut(): void {
    this.session?.destroy();
    this.raw.destroy();
  }
}

/** The findings of a sweep, for comparison in the next one. */
interface Swept {
  atMs: number;
  bytesRead: number;
  bytesWritten: number;
  /** When a partial request was first seen. */
  headersSinceMs: number | undefined;
  /** When bytes were last seen to be sent, or nothing was pending. */
  writtenMs: number;
}

interface ConnectionDeps {
  readonly callers: Callers;
  readonly clock: Clock;
  readonly log: Log;
}

const sweepMs = 100;
/** Rates are measured over at least this time, so that a short burst is not a flood; a flood is seen earlier. */
const rateMs = 250;
const dayMs = 86_400_000;

/** Every connection of the server. Those that miss a deadline, or hold too much, are cut. */
export class ServerConnections {
  readonly #deps: ConnectionDeps;
  readonly #limits: Limits;
  /** By `connectionKey`, which is also known in the layers above TCP. */
  readonly #open = new Map<string, Connection>();
  readonly #strangers: Strangers<Connection>;
  #strangerStreams = 0;
  #cancelSweep: (() => void) | undefined;

  constructor(deps: ConnectionDeps) {
    this.#deps = deps;
    this.#limits = deps.callers.limits;
    const { strangers: all, strangersPerAddress: perAddress } = this.#limits;
    this.#strangers = new Strangers({ all, perAddress });
  }

  get size(): number {
    return this.#open.size;
  }

  accept(raw: Socket): Connection {
    const connection = new Connection(raw, this.#deps.clock.now());
    this.#makeRoom(connection.address);
    const key = connectionKey(raw);
    this.#open.set(key, connection);
    this.#strangers.add(connection);
    raw.once("close", () => {
      if (this.#open.get(key) === connection) this.#open.delete(key);
      this.#forget(connection);
    });
    this.#cancelSweep ??= this.#deps.clock.after(sweepMs, () => this.#sweep());
    return connection;
  }

  /** The connection below a TLS socket. */
  find(socket: Socket): Connection | undefined {
    return this.#open.get(connectionKey(socket));
  }

  /** The TLS handshake is done. The connection lives no longer than the client's certificate. */
  secured(connection: Connection, peer: Peer): void {
    connection.peer = peer;
    this.#rest(connection);
    const { notAfterMs } = peer.certificate ?? peer.frontProxy ?? {};
    if (notAfterMs !== undefined) this.#cutAt(connection, notAfterMs);
  }

  /** A user was authenticated on it, and authorised: from now on the user's limits apply. */
  welcome(connection: Connection, caller: Caller): void {
    if (!connection.isStranger || !caller.isKnown) return;
    this.#removeStranger(connection);
    connection.caller = caller;
    caller.connections++;
    const { session } = connection;
    if (session && !session.closed) session.settings(userSettings);
    if (caller.connections > this.#limits.connectionsPerUser) this.#cut(connection, "too many connections of a user");
  }

  /** Returns false if strangers have too many streams. */
  openStream(connection: Connection): boolean {
    if (connection.isStranger) {
      if (this.#strangerStreams >= this.#limits.strangerStreams) return false;
      this.#strangerStreams++;
    }
    connection.streams++;
    connection.requests++;
    return true;
  }
  closeStream(connection: Connection): void {
    connection.streams--;
    if (connection.isStranger) this.#strangerStreams--;
    if (connection.streams === 0) this.#rest(connection);
  }

  *[Symbol.iterator](): Iterator<Connection> {
    yield* this.#open.values();
  }

  close(): void {
    this.#cancelSweep?.();
  }

  /**
   * An address may exceed its share of strangers for a moment: a client that opens hundreds of connections is a
   * stranger on each of them until its first request.
   */
  #makeRoom(address: string): void {
    const stranger = this.#strangers.surplus(address, (oldest) => this.#isLate(oldest));
    if (stranger) return this.#evict(stranger, "too many connections without a user");
    if (this.#open.size < this.#limits.connections) return;
    const largest = this.#ofLargest();
    if (largest) this.#evict(largest, "too many connections, and its user has the most");
  }

  #isLate({ openedMs, hasSpoken }: Connection): boolean {
    const { silentMs, speakingMs } = this.#limits;
    return this.#deps.clock.now() - openedMs >= (hasSpoken ? speakingMs : silentMs);
  }

  /**
   * A connection of the user, or of the address without a user, that has the most, so that nobody else is locked out.
   */
  #ofLargest(): Connection | undefined {
    let largest: Connection | undefined;
    let most = 0;
    for (const each of this.#open.values()) {
      const count = each.isStranger ? this.#strangers.countOf(each.address) : (each.caller?.connections ?? 0);
      if (count > most) [largest, most] = [each, count];
    }
    return largest?.isStranger ? this.#strangers.oldest() : largest;
  }

  #evict(connection: Connection, why: string): void {
    this.#forget(connection);
    // Immediately, because the socket reports its close only later.
    this.#open.delete(connectionKey(connection.raw));
    this.#cut(connection, why);
  }

  #removeStranger(connection: Connection): void {
    if (!connection.isStranger) return;
    connection.isStranger = false;
    this.#strangerStreams -= connection.streams;
    this.#strangers.delete(connection);
  }

  #rest(connection: Connection): void {
    connection.idleSinceMs = this.#deps.clock.now();
    connection.idleBytesRead = connection.raw.bytesRead;
  }

  /** It is closed, or practically closed. */
  #forget(connection: Connection): void {
    this.#removeStranger(connection);
    if (connection.caller) connection.caller.connections--;
    connection.caller = undefined;
  }

  #cutAt(connection: Connection, atMs: number): void {
    const leftMs = atMs - this.#deps.clock.now();
    if (leftMs <= 0) return this.#cut(connection, "the client certificate has expired");
    const cancel = this.#deps.clock.after(Math.min(leftMs, dayMs), () => {
      connection.raw.off("close", cancel);
      this.#cutAt(connection, atMs);
    });
    connection.raw.once("close", cancel);
  }

  #sweep(): void {
    const now = this.#deps.clock.now();
    for (const connection of this.#open.values()) {
      expireBodies(connection, now - this.#limits.bodyMs);
      const why = overdue(connection, now, this.#limits);
      if (why === idle) this.#end(connection);
      else if (why) this.#cut(connection, why);
    }
    this.#deps.callers.prune();
    this.#cancelSweep = this.#open.size > 0 ? this.#deps.clock.after(sweepMs, () => this.#sweep()) : undefined;
  }

  /** Notifies the client first, if the protocol can; only once. */
  #end(connection: Connection): void {
    const { session } = connection;
    if (session && !session.closed) session.close();
    else connection.cut();
  }

  #cut(connection: Connection, why: string): void {
    this.#deps.log.debug("connection cut", { address: connection.address, why });
    connection.cut();
  }
}

function expireBodies({ receiving }: Connection, beforeMs: number): void {
  for (const body of receiving) if (body.startedMs <= beforeMs) body.expire();
}

const idle = "idle";

/** Why a connection must be cut, if so. Records its findings for the next sweep. */
function overdue(connection: Connection, now: number, limits: Limits): string | undefined {
  const { phase, openedMs, isStranger, swept } = connection;
  if (phase === "upgraded") return undefined;
  if (phase === "handshake") return now - openedMs >= limits.handshakeMs ? "no TLS handshake in time" : undefined;
  const flood = isStranger ? limits.strangerFrameBytes : limits.frameBytes;
  const isFlood = phase === "http2" && frameBytes(connection, now) > flood;
  if (now - swept.atMs >= rateMs) look(connection, now);
  if (isFlood) return "a flood of HTTP/2 frames";
  if (now - swept.writtenMs >= (isStranger ? limits.strangerStallMs : limits.stallMs)) return "answers are not taken";
  const { headersSinceMs = now } = swept;
  if (now - headersSinceMs >= limits.headersMs) return "no whole request in time";
  if (connection.streams > 0) return undefined;
  return now - connection.idleSinceMs >= (isStranger ? limits.strangerIdleMs : limits.idleMs) ? idle : undefined;
}

function look(connection: Connection, now: number): void {
  const { raw, phase, swept, streams, unsentBytes } = connection;
  if (raw.bytesWritten !== swept.bytesWritten || unsentBytes === 0) swept.writtenMs = now;
  // A peer that has sent something since its last request ended is sending the next headers.
  const isSpeaking = phase === "http1" && streams === 0 && raw.bytesRead > connection.idleBytesRead;
  swept.headersSinceMs = isSpeaking ? (swept.headersSinceMs ?? now) : undefined;
  swept.atMs = now;
  swept.bytesRead = raw.bytesRead;
  swept.bytesWritten = raw.bytesWritten;
  connection.requests = 0;
  connection.bodyBytes = 0;
}

/** The headers and framing of a request are a few kB at most, and bodies have their own limits. */
const requestBytes = 64 << 10;

/** Bytes received in a second that were neither request nor body. */
function frameBytes({ raw, swept, requests, bodyBytes }: Connection, now: number): number {
  const seconds = Math.max(rateMs, now - swept.atMs) / 1000;
  return (raw.bytesRead - swept.bytesRead - requests * requestBytes - bodyBytes * 2) / seconds;
}
