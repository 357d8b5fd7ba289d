import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2, constants } from "node:http2";
import { type Clock } from "#lib/async/clock.ts";
import type { Dialed } from "./dial.ts";
import { flat, maxInterim, tooManyInterim, WireError, type WireRequest, type WireResponse } from "./wire.ts";

const pingEveryMs = 30_000;
const pingTimeoutMs = 15_000;
/** Each watch holds a stream, and a server allows a few hundred per connection. */
const maxSessions = 16;

/** A connection and the number of requests in progress on it. */
export interface Http2Slot {
  readonly session: ClientHttp2Session;
  streams: number;
}

/** The open HTTP/2 connections to one server. */
export class Http2Sessions {
  readonly #origin: string;
  readonly #dial: () => Promise<Dialed>;
  readonly #clock: Clock;
  readonly #open = new Set<Http2Slot>();
  #connecting: Promise<Http2Slot | undefined> | undefined;
  #closed = false;

  constructor(origin: string, dial: () => Promise<Dialed>, clock: Clock) {
    this.#origin = origin;
    this.#dial = dial;
    this.#clock = clock;
  }

  /** A connection with a free stream; undefined if the server does not support HTTP/2. */
  async acquire(): Promise<Http2Slot | undefined> {
    const free = this.#withRoom();
    if (free) return free;
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined;
    });
    const connected = await this.#connecting;
    // Others may have waited for the same connection and filled it.
    return connected && (this.#withRoom() ?? connected);
  }

  close(): void {
    this.#closed = true;
    for (const { session } of this.#open) session.destroy();
    this.#open.clear();
  }

  #withRoom(): Http2Slot | undefined {
    for (const slot of this.#open) {
      if (slot.streams < (slot.session.remoteSettings?.maxConcurrentStreams ?? 100)) return slot;
    }
    if (this.#open.size < maxSessions) return undefined;
    return [...this.#open].reduce((a, b) => (b.streams < a.streams ? b : a));
  }

  async #connect(): Promise<Http2Slot | undefined> {
    if (this.#closed) throw new WireError("connect", "the client is closed");
    const { socket, http2 } = await this.#dial().catch((error: unknown) => {
      throw new WireError("connect", error);
    });
    if (!http2) {
      socket.destroy();
      return undefined;
    }
    const session = connectHttp2(this.#origin, { createConnection: () => socket, settings: { enablePush: false } });
    session.setLocalWindowSize(16 << 20);
    return this.#adopt(session);
  }

  #adopt(session: ClientHttp2Session): Http2Slot {
    const slot = { session, streams: 0 };
    this.#open.add(slot);
    const stopPings = keepAlive(session, this.#clock);
    const drop = () => {
      stopPings();
      this.#open.delete(slot);
    };
    session.on("close", drop);
    // The streams report the reason to the callers.
    session.on("error", drop);
    // The server is shutting down: requests in progress may finish, new ones use another connection.
    session.on("goaway", drop);
    return slot;
  }
}

/** Detects dead connections. Returns a function that stops it. */
function keepAlive(session: ClientHttp2Session, clock: Clock): () => void {
  let cancel = () => {};
  const ping = () => {
    cancel = clock.after(pingTimeoutMs, () =>
      session.destroy(new Error("the connection is dead: no answer to a ping")),
    );
    session.ping((error) => {
      cancel();
      if (!error) cancel = clock.after(pingEveryMs, ping);
    });
  };
  cancel = clock.after(pingEveryMs, ping);
  return () => cancel();
}

/** Sends on one connection; resolves with the head of the response. */
export function sendHttp2(slot: Http2Slot, request: WireRequest): Promise<WireResponse> {
  return new Promise((resolve, reject) => {
    const { signal, body } = request;
    const stream = openStream(slot.session, request);
    slot.streams++;
    const abort = () => {
      reject(signal.reason);
      stream.close(constants.NGHTTP2_CANCEL);
      stream.destroy();
    };
    signal.addEventListener("abort", abort, { once: true });
    let interim = 0;
    stream.on("headers", () => {
      if (++interim > maxInterim) stream.destroy(new Error(tooManyInterim));
    });
    stream.once("response", (headers) => {
      resolve({ status: headers[":status"] ?? 0, headers: flat(headers), body: stream });
    });
    stream.on("error", (error) => reject(new WireError(kindOf(stream), error)));
    stream.once("close", () => {
      slot.streams--;
      signal.removeEventListener("abort", abort);
      reject(new WireError(kindOf(stream), "the connection was closed before an answer came"));
    });
    if (body) stream.end(body);
  });
}

function openStream(session: ClientHttp2Session, { method, path, headers, body }: WireRequest): ClientHttp2Stream {
  try {
    const head = { ":method": method, ":path": path, ...headers };
    return session.request(head, { endStream: body === undefined });
  } catch (error) {
    // The connection is closing, and nothing was sent.
    throw new WireError("refused", error);
  }
}

const kindOf = (stream: ClientHttp2Stream): "refused" | "lost" =>
  stream.rstCode === constants.NGHTTP2_REFUSED_STREAM ? "refused" : "lost";
