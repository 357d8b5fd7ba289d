import http2 from "node:http2";
import net from "node:net";
import { type Clock, systemClock } from "#lib/async/clock.ts";
import { outOfTime, withDeadline } from "#lib/async/deadline.ts";
import { neverAborted, orAborted } from "#lib/async/tasks.ts";
import { limitReads, type ReadLimits } from "#lib/net/limit-reads.ts";
import { drained } from "#lib/net/sockets.ts";
import { frame, GrpcMessageReader } from "./frames.ts";
import type { Message } from "./message.ts";
import { GrpcError, statusOf } from "./status.ts";

/** One method of a service, with the messages it takes and gives. */
export interface Rpc<In, Out> {
  readonly path: string;
  readonly request: { encode(value: In): Uint8Array };
  readonly response: { decode(bytes: Uint8Array): Out };
}
export const rpc = <In, Out>(
  path: string,
  request: Message<unknown, In>,
  response: Message<Out, never>,
): Rpc<In, Out> => ({ path, request, response });

export interface GrpcOptions {
  /** `unix:///run/x.sock`, `http://host:port` or `https://host:port`. */
  readonly address: string;
  readonly clock?: Clock;
  /** For `https`. */
  readonly tls?: { readonly ca?: string; readonly cert?: string; readonly key?: string };
  /** A larger message fails its call with `RESOURCE_EXHAUSTED`; default 16 MiB. */
  readonly maxMessageBytes?: number;
  /** Total that may arrive during the client's life: for servers that are not trusted, and `http` only. */
  readonly readLimits?: ReadLimits;
  /** Ends connections on which nothing arrives. Default: none. */
  readonly keepalive?: Keepalive;
}

export interface Keepalive {
  /** How often the server is pinged while there are calls, and how long its answer may take. */
  readonly everyMs: number;
  readonly timeoutMs: number;
  /** How long a new server may take to say anything. */
  readonly greetingMs: number;
}

/** The most that containerd sends. */
const defaultMaxMessageBytes = 16 << 20;
/** For headers and trailers, which include error messages. */
const maxHeaderListBytes = 64 << 10;
/** The timeout header of gRPC has eight digits. */
const maxTimeoutMs = 99_999_999;

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
}

/**
 * Calls methods of one server. It connects on the first call, and again when the connection was lost. A call that was
 * in flight then fails with `UNAVAILABLE` and is not repeated, because the server may have carried it out. Calls wait until
 * a new connection has brought the server's greeting: a server can carry out what it has received before we read anything
 * from it, so without the greeting a call is not sent at all.
 */
export class GrpcClient implements Disposable {
  readonly #options: GrpcOptions;
  readonly #clock: Clock;
  #session: http2.ClientHttp2Session | undefined;
  /** Of sessions whose server has said nothing yet. */
  readonly #greetings = new WeakMap<http2.ClientHttp2Session, Promise<void>>();
  #calls = 0;

  constructor(options: GrpcOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  /** One request, one reply. */
  async call<In, Out>(method: Rpc<In, Out>, request: In, options: CallOptions = {}): Promise<Out> {
    const call = this.#openNow(method.path, options) ?? (await this.#openLater(method.path, options));
    const replies: Uint8Array[] = [];
    const frames = this.#reader();
    call.stream.on("data", (chunk: Buffer) => {
      try {
        for (const reply of frames.push(chunk)) replies.push(reply);
        if (replies.length > 1) throw new GrpcError("INTERNAL", "the server sent more than one message");
      } catch (error) {
        call.fail(error);
      }
    });
    call.stream.end(frame(method.request.encode(request)));
    await call.done;
    const [reply] = replies;
    if (reply === undefined) throw new GrpcError("INTERNAL", "the server closed the call without a message");
    return method.response.decode(reply);
  }

  /** One request, any number of replies. Leaving the loop cancels the call. */
  async *stream<In, Out>(method: Rpc<In, Out>, request: In, options: CallOptions = {}): AsyncGenerator<Out, void> {
    const call = this.#openNow(method.path, options) ?? (await this.#openLater(method.path, options));
    call.stream.end(frame(method.request.encode(request)));
    yield* received(call, method.response, this.#reader());
  }

  /** Messages in both directions concurrently. Leaving the loop, or a failure of `requests`, cancels the call. */
  async *duplex<In, Out>(
    method: Rpc<In, Out>,
    requests: AsyncIterable<In>,
    options: CallOptions = {},
  ): AsyncGenerator<Out, void> {
    const call = this.#openNow(method.path, options) ?? (await this.#openLater(method.path, options));
    const sending = send(call.stream, requests, method);
    try {
      yield* received(call, method.response, this.#reader());
    } finally {
      call.cancel();
      await sending;
    }
  }

  /** Ends the connection and every call on it. */
  close(): void {
    this.#session?.destroy();
    this.#session = undefined;
  }
  [Symbol.dispose](): void {
    this.close();
  }

  #reader(): GrpcMessageReader {
    return new GrpcMessageReader(this.#options.maxMessageBytes ?? defaultMaxMessageBytes);
  }

  /** Undefined if there is no connection that the call can use at once. */
  #openNow(path: string, options: CallOptions): OpenCall | undefined {
    options.signal?.throwIfAborted();
    const session = this.#connect();
    return this.#greetings.has(session) ? undefined : this.#open(session, path, options);
  }

  async #openLater(path: string, options: CallOptions): Promise<OpenCall> {
    const startMs = this.#clock.now();
    const session = this.#connect();
    await this.#inTime(this.#greetings.get(session), options);
    if (!isOpen(session)) throw connectionFault(undefined, { isUnsent: true });
    if (options.timeoutMs === undefined) return this.#open(session, path, options);
    return this.#open(session, path, { ...options, timeoutMs: options.timeoutMs - (this.#clock.now() - startMs) });
  }

  async #inTime(greeting: Promise<void> | undefined, { signal, timeoutMs }: CallOptions): Promise<void> {
    if (!greeting) return;
    if (timeoutMs === undefined) return orAborted(greeting, signal);
    const limits = { clock: this.#clock, signal: signal ?? neverAborted };
    if ((await withDeadline(timeoutMs, limits, () => greeting)) === outOfTime) {
      throw new GrpcError("DEADLINE_EXCEEDED", `no answer within ${timeoutMs} ms`, { isUnsent: true });
    }
  }

  #open(session: http2.ClientHttp2Session, path: string, { signal, metadata, ...options }: CallOptions): OpenCall {
    const timeoutMs = options.timeoutMs === undefined ? undefined : Math.min(options.timeoutMs, maxTimeoutMs);
    const headers: http2.OutgoingHttpHeaders = {
      ":method": "POST",
      ":path": path,
      te: "trailers",
      "content-type": "application/grpc",
      ...metadata,
    };
    if (timeoutMs !== undefined) headers["grpc-timeout"] = `${Math.max(1, Math.ceil(timeoutMs))}m`;
    const stream = session.request(headers, { endStream: false });
    this.#calls++;
    stream.on("close", () => this.#calls--);
    return trackCall(stream, { signal, timeoutMs, clock: this.#clock });
  }

  #connect(): http2.ClientHttp2Session {
    const held = this.#session;
    if (held && isOpen(held)) return held;
    const session = connect(this.#options);
    const forget = () => {
      if (this.#session === session) this.#session = undefined;
    };
    // Each call on the session sees the failure itself.
    session.on("error", forget);
    session.on("close", forget);
    session.on("goaway", forget);
    const greeting = greetingOf(session);
    this.#greetings.set(session, greeting);
    greeting.then(() => this.#greetings.delete(session)).catch(() => {}); // Those who wait see the failure.
    const { keepalive } = this.#options;
    if (keepalive) keepAlive(session, keepalive, { clock: this.#clock, isIdle: () => this.#calls === 0 });
    this.#session = session;
    return session;
  }
}

const isOpen = (session: http2.ClientHttp2Session): boolean => !session.closed && !session.destroyed;

/** Resolves when the server has sent its settings, which are the first that it says. Rejects if the connection ends before. */
function greetingOf(session: http2.ClientHttp2Session): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let failure: unknown;
  session.once("remoteSettings", () => resolve());
  session.on("error", (error) => {
    failure = error;
  });
  session.once("close", () => reject(connectionFault(failure, { isUnsent: true })));
  return promise;
}

function connect({ address, tls, readLimits }: GrpcOptions): http2.ClientHttp2Session {
  const settings = { enablePush: false, initialWindowSize: 1 << 20, maxHeaderListSize: maxHeaderListBytes };
  const options = { settings, maxSessionMemory: 256 };
  if (readLimits) {
    const createConnection = ({ hostname, port }: URL) =>
      limitReads(net.connect({ host: hostname.replace(/^\[|\]$/g, ""), port: Number(port) || 80 }), readLimits);
    return http2.connect(address, { ...options, createConnection });
  }
  if (!address.startsWith("unix://")) return http2.connect(address, { ...options, ...tls });
  const path = address.slice("unix://".length);
  return http2.connect("http://localhost", { ...options, createConnection: () => net.connect({ path }) });
}

/** Ends the session if the server does not greet, or a ping gets no answer, in time. */
function keepAlive(
  session: http2.ClientHttp2Session,
  { everyMs, timeoutMs, greetingMs }: Keepalive,
  { clock, isIdle }: { readonly clock: Clock; isIdle(): boolean },
): void {
  const giveUp = (what: string, ms: number, isUnsent: boolean) =>
    clock.after(ms, () => session.destroy(new GrpcError("UNAVAILABLE", `no ${what} within ${ms} ms`, { isUnsent })));
  let cancel = giveUp("greeting", greetingMs, true);
  const arm = () => {
    cancel();
    cancel = clock.after(everyMs, ping);
  };
  const ping = () => {
    if (session.closed || session.destroyed) return;
    // Servers take pings without a call for an attack.
    if (isIdle()) return arm();
    cancel = giveUp("answer to a ping", timeoutMs, false);
    session.ping(arm);
  };
  session.once("remoteSettings", arm);
  session.on("close", () => cancel());
}

interface OpenCall {
  readonly stream: http2.ClientHttp2Stream;
  /** Resolves when the server's status is OK, otherwise rejects. */
  readonly done: Promise<void>;
  cancel(): void;
  /** Cancels the call for a reason that takes precedence over the server's status. */
  fail(reason: unknown): void;
}

interface Limits {
  readonly signal: AbortSignal | undefined;
  readonly timeoutMs: number | undefined;
  readonly clock: Clock;
}

function trackCall(stream: http2.ClientHttp2Stream, { signal, timeoutMs, clock }: Limits): OpenCall {
  let head: http2.IncomingHttpHeaders = {};
  let trailers: http2.IncomingHttpHeaders | undefined;
  let failure: unknown;
  const cancel = () => stream.close(http2.constants.NGHTTP2_CANCEL);
  let ourReason: unknown;
  const fail = (reason: unknown) => {
    ourReason ??= reason;
    cancel();
  };
  const abort = () => {
    failure = signal?.reason;
    cancel();
  };
  signal?.addEventListener("abort", abort, { once: true });
  const stopTimer =
    timeoutMs === undefined
      ? undefined
      : clock.after(timeoutMs, () => {
          failure = new GrpcError("DEADLINE_EXCEEDED", `no answer within ${timeoutMs} ms`);
          cancel();
        });
  const { promise: done, resolve, reject } = Promise.withResolvers<void>();
  done.catch(() => {}); // The reader of the call awaits it, unless the call was left early.
  stream.on("response", (headers) => {
    head = headers;
  });
  stream.on("trailers", (headers) => {
    trailers = headers;
  });
  stream.on("error", (error) => {
    failure ??= error;
  });
  stream.on("close", () => {
    stopTimer?.();
    signal?.removeEventListener("abort", abort);
    const error = ourReason ?? outcome(trailers ?? head, failure);
    if (error === undefined) resolve();
    else reject(error);
  });
  return { stream, done, cancel, fail };
}

/** What went wrong, if anything. The server's status takes precedence over the connection's error. */
function outcome(headers: http2.IncomingHttpHeaders, failure: unknown): unknown {
  const status = statusOf(headers);
  if (status === "OK") return undefined;
  if (status !== undefined) return status;
  const fault = connectionFault(failure, { isUnsent: false });
  const http = Number(headers[":status"] ?? 200);
  return fault === failure || http === 200 ? fault : new GrpcError("UNKNOWN", `the server answered HTTP ${http}`);
}

function connectionFault(failure: unknown, { isUnsent }: { readonly isUnsent: boolean }): unknown {
  if (failure instanceof GrpcError || (failure instanceof Error && failure.name === "AbortError")) return failure;
  if (failure !== undefined && !isConnectionError(failure)) return failure;
  const why = failure instanceof Error ? failure.message : "the connection was closed";
  return new GrpcError("UNAVAILABLE", why, { cause: failure, isUnsent });
}

const isConnectionError = (failure: unknown): boolean => failure instanceof Error && "code" in failure;

async function* received<Out>(
  call: OpenCall,
  response: { decode(bytes: Uint8Array): Out },
  frames: GrpcMessageReader,
): AsyncGenerator<Out, void> {
  try {
    for await (const chunk of chunksOf(call.stream)) {
      for (const reply of frames.push(chunk)) yield response.decode(reply);
    }
    await call.done;
  } finally {
    call.cancel();
  }
}

/** The stream's data. Errors are reported by `done`, together with the server's status. */
async function* chunksOf(stream: http2.ClientHttp2Stream): AsyncGenerator<Buffer, void> {
  try {
    yield* stream;
  } catch (error) {
    if (!stream.destroyed) throw error;
  }
}

async function send<In>(
  stream: http2.ClientHttp2Stream,
  requests: AsyncIterable<In>,
  method: Rpc<In, unknown>,
): Promise<void> {
  try {
    for await (const request of requests) {
      if (stream.destroyed) return;
      if (!stream.write(frame(method.request.encode(request)))) await drained(stream);
    }
    stream.end();
  } catch (error) {
    stream.destroy(error instanceof Error ? error : new Error(String(error)));
  }
}
