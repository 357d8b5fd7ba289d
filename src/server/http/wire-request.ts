import { type AdmitOptions, type ApiRequest, type Peer, type UserInfo } from "#api/exchange.ts";
import { badRequest, requestTimeout, type StatusError } from "#api/status.ts";
import { type Clock } from "#lib/async/clock.ts";
import { ignore } from "#lib/net/sockets.ts";
import { type Caller, type Callers, type Wait } from "./callers.ts";
import { type Connection, type ServerConnections } from "./connections.ts";
import { bodyTooLarge, maxBodyBytes, userSettings } from "./limits.ts";
import { type BodySource, decompressed, readBody } from "./read-body.ts";

/** Where a request arrived. */
export interface Entry {
  readonly connection: Connection;
  readonly connections: ServerConnections;
  readonly callers: Callers;
  readonly clock: Clock;
}

/** A watch keeps its parsed selectors: one whose query is longer than this counts as two. */
const longQuery = 512;

const { initialWindowSize: windowBytes } = userSettings;

/** How long a response waits for the client to read the previous ones. */
const roomMs = 30_000;

/** The headers of a request, with the values of one name joined, and as they were sent. */
export interface Headers {
  readonly joined: ApiRequest["headers"];
  readonly raw?: readonly string[] | undefined;
}

/** A request from a socket. The signal is created only on demand. */
export class WireRequest implements ApiRequest {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: ApiRequest["headers"];
  readonly rawHeaders: ApiRequest["rawHeaders"];
  readonly peer: Peer;
  body: Uint8Array | undefined;
  /** The source of the body, until it has been read. */
  source: BodySource | undefined;
  readonly #entry: Entry | undefined;
  #caller: Caller | undefined;
  bodyStream: BodySource | undefined;
  #bodyBytes = 0;
  /** What the client may have sent of a body that is passed on, and nobody has read. */
  #streamedBytes = 0;
  #unsentBytes = 0;
  #unreadBytes = 0;
  #hasLargePlace = false;
  #isAnswering = false;
  #endWatch: (() => void) | undefined;
  #abort: AbortController | undefined;
  #left: AbortController | undefined;
  #isGone = false;

  constructor(method: string, url: string, headers: Headers, from: Entry | Peer) {
    const question = url.indexOf("?");
    this.method = method;
    this.path = question < 0 ? url : url.slice(0, question);
    this.query = question < 0 ? "" : url.slice(question + 1);
    this.headers = headers.joined;
    this.rawHeaders = headers.raw;
    this.#entry = "connection" in from ? from : undefined;
    this.peer = "connection" in from ? from.connection.peer : from;
  }

  get signal(): AbortSignal {
    this.#abort ??= new AbortController();
    if (this.#isGone) this.#abort.abort();
    return this.#abort.signal;
  }

  expire(): void {
    this.#abort ??= new AbortController();
    this.#abort.abort();
  }

  admit(user: UserInfo, options: AdmitOptions): Promise<void> | undefined {
    const entry = this.#entry;
    if (!entry || this.#caller) return undefined;
    this.#checkPresent();
    const { callers, connections, connection } = entry;
    const caller = callers.of(user, this.peer.address);
    callers.beginRequest(caller);
    this.#caller = caller;
    if (connection.isStranger) connections.welcome(connection, caller);
    if (!this.source) return undefined;
    return options.streams ? this.#passOn(this.source, caller) : this.#receive(this.source, caller, options);
  }

  room(): Promise<void> | undefined {
    const entry = this.#entry;
    const caller = this.#caller;
    this.#checkPresent();
    // One that has waited is next, whichever request asks again.
    if (!entry || !caller || this.#isAnswering) return undefined;
    const { callers, connection } = entry;
    const most = callers.limits.unsentBytesPerConnection;
    const hasRoom = () => connection.unsentBytes <= most && callers.hasRoom(caller);
    const isFree = () => !caller.isAnswering && hasRoom();
    const take = () => {
      caller.isAnswering = true;
      this.#isAnswering = true;
    };
    return hasRoom() ? undefined : this.#waitForRoom({ reasons: [caller, connection, "answers"], isFree, take });
  }

  countWatch(): void {
    if (!this.#entry || !this.#caller) return;
    this.#checkPresent();
    const count = 1 + Math.floor(this.query.length / longQuery);
    this.#endWatch = this.#entry.callers.beginWatch(this.#caller, count);
  }

  /** Whether the caller may get more watch events before it has read the previous ones. */
  get hasRoom(): boolean {
    return !this.#entry || !this.#caller || this.#entry.callers.hasRoomForEvents(this.#caller);
  }

  /** Calls back once when there is room for more events; never after the client has hung up. */
  onRoom(wake: () => void): void {
    if (!this.#entry || !this.#caller) return;
    const wait: Wait = { reasons: [this.#caller, "events"], isFree: () => this.hasRoom };
    this.#entry.callers.wait(wait, this.#hangUp()).then(wake, ignore);
  }

  /** How much a watch has written that the client has not read. It counts for the caller. */
  setUnread(bytes: number): void {
    if (!this.#entry || !this.#caller || this.#isGone) return;
    this.#entry.callers.changeUnread(this.#caller, bytes - this.#unreadBytes);
    this.#unreadBytes = bytes;
  }

  /** The response is made: the body and everything derived from it are released. */
  served(): void {
    const entry = this.#entry;
    const caller = this.#caller;
    if (!entry || !caller) return;
    if (this.#bodyBytes > 0) entry.callers.removeBody(caller, this.#bodyBytes);
    this.#bodyBytes = 0;
    this.body = undefined;
    this.#giveLargePlace(caller);
  }

  /** The complete response is being sent, so nothing waits for this request any more. */
  answered(bytes: number): void {
    this.#abort = undefined;
    if (!this.#entry || this.#isGone) return;
    this.#unsentBytes += bytes;
    this.#entry.connection.unsentBytes += bytes;
    if (this.#caller) this.#entry.callers.addUnsent(this.#caller, bytes);
    this.#endAnswering();
  }

  /** The response is a stream without a known end: others that wait for room need not wait for it. */
  goesOn(): void {
    this.#endAnswering();
  }

  /** The client has its response, or hung up. */
  gone(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    this.#abort?.abort();
    const entry = this.#entry;
    if (!entry) return;
    entry.connection.unsentBytes -= this.#unsentBytes;
    if (this.#unsentBytes > 0) entry.callers.freed(entry.connection);
    entry.connections.closeStream(entry.connection);
    this.#endWatch?.();
    if (!this.#caller) return;
    this.#endAnswering();
    entry.callers.endRequest(this.#caller);
    if (this.#unsentBytes > 0) entry.callers.removeUnsent(this.#caller, this.#unsentBytes);
    if (this.#unreadBytes > 0) entry.callers.changeUnread(this.#caller, -this.#unreadBytes);
    if (this.#streamedBytes > 0) entry.callers.removeBody(this.#caller, this.#streamedBytes);
  }

  /** Anything counted after `gone` would count for ever. */
  #checkPresent(): void {
    if (this.#isGone) throw hungUp();
  }

  /** While nobody reads the body, the client can send as much of it as the window of its stream allows. */
  #passOn(source: BodySource, caller: Caller): undefined {
    const { callers } = this.#entry as Entry;
    const { "content-length": length, expect } = this.headers;
    const bytes = Math.min(Number(length ?? windowBytes), windowBytes);
    callers.addBody(caller, bytes);
    this.#streamedBytes = bytes;
    if (expect === "100-continue") sayContinue(source);
    this.bodyStream = source;
    this.source = undefined;
  }

  async #receive(source: BodySource, caller: Caller, { passesOn }: AdmitOptions): Promise<void> {
    const { callers, connection, clock } = this.#entry as Entry;
    const { headers } = this;
    if (Number(headers["content-length"] ?? "0") > maxBodyBytes) throw bodyTooLarge();
    if (headers.expect === "100-continue") sayContinue(source);
    const count = (bytes: number): void => {
      callers.addBody(caller, bytes);
      this.#bodyBytes += bytes;
    };
    const body = await readBody(source, { connection, startedMs: clock.now(), count });
    this.source = undefined;
    const encoding = headers["content-encoding"];
    const isPlain = !encoding || encoding === "identity";
    const isLarge = !isPlain || body.length >= callers.limits.largeBodyBytes;
    if (isLarge && !(passesOn && isPlain)) await this.#takeLargePlace(caller);
    this.body = isPlain ? body : await decompressed(body, encoding);
    if (this.body.length > body.length) count(this.body.length - body.length);
    if (passesOn) this.#giveLargePlace(caller);
  }

  /** Large bodies take many times their size when they are decoded, so only a few are read at a time. */
  async #takeLargePlace(caller: Caller): Promise<void> {
    const { callers } = this.#entry as Entry;
    await callers.takeLargePlace(caller, this.#hangUp());
    this.#hasLargePlace = true;
  }
  #giveLargePlace(caller: Caller): void {
    if (this.#hasLargePlace) this.#entry?.callers.giveLargePlace(caller);
    this.#hasLargePlace = false;
  }

  async #waitForRoom(wait: Wait): Promise<void> {
    const { callers, clock, connection } = this.#entry as Entry;
    const late = new AbortController();
    const cancel = clock.after(roomMs, () => late.abort(requestTimeout()));
    const signal = AbortSignal.any([this.#hangUp(), late.signal]);
    try {
      await callers.wait(wait, signal);
    } finally {
      cancel();
    }
    if (!this.#isGone && !connection.raw.destroyed && !connection.session?.destroyed) return;
    this.#endAnswering();
    throw hungUp();
  }
  #endAnswering(): void {
    if (this.#isAnswering && this.#caller) this.#entry?.callers.endAnswering(this.#caller);
    this.#isAnswering = false;
  }

  /** The signal, whose reason is an error for the client. */
  #hangUp(): AbortSignal {
    if (this.#left) return this.#left.signal;
    const left = new AbortController();
    const abort = () => left.abort(hungUp());
    if (this.#isGone) abort();
    else this.signal.addEventListener("abort", abort, { once: true });
    this.#left = left;
    return left.signal;
  }
}

const hungUp = (): StatusError => badRequest("the client hung up");

/** Sends 100-continue only to clients that may send a body. */
function sayContinue(source: BodySource): void {
  if ("additionalHeaders" in source) source.additionalHeaders({ ":status": 100 });
  else source.socket.write("HTTP/1.1 100 Continue\r\n\r\n");
}
