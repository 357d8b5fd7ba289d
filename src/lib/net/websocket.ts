import { Socket } from "node:net";
import { type Duplex } from "node:stream";
import type { WebSocket } from "ws";
import { http } from "./node-http.ts";
import { withoutTokens } from "./upgrade.ts";

/** What a peer may make us hold. Whoever goes beyond is cut off with the code 1009 or 1008. */
const limits = {
  /** Of one message, however many fragments it has. Clients send their input in messages of some 32 KiB. */
  maxPayload: 4 << 20,
  maxFragments: 1024,
  /** Pieces of the connection that wait for the rest of their frame. */
  maxBufferedChunks: 16 << 10,
  /** How long a peer has to answer a close. */
  closeTimeout: 10_000,
};

/** `send` waits once this much is not taken by the peer. */
const maxUnsentBytes = 64 << 10;

export interface WebSocketMessage {
  readonly isText: boolean;
  readonly data: Buffer;
}

export interface WebSocketRequest {
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Subprotocols that the client offers, the one it likes best first. */
  readonly protocols: readonly string[];
}

/** The client's request for a WebSocket is not one that can be granted. */
export class WebSocketError extends Error {
  override readonly name = "WebSocketError";
}

/** What a client asks for, if its request is one for a WebSocket; throws where it is a bad one. */
export function readWebSocketRequest(headers: WebSocketRequest["headers"]): WebSocketRequest | undefined {
  if (headers.upgrade?.toLowerCase() !== "websocket") return undefined;
  const key = headers["sec-websocket-key"] ?? "";
  const version = headers["sec-websocket-version"] ?? "";
  if (version !== "13") throw new WebSocketError(`WebSocket version "${version}" is not 13`);
  if (!/^[+/0-9A-Za-z]{22}==$/.test(key)) throw new WebSocketError("bad WebSocket key");
  const offered = withoutTokens(headers["sec-websocket-protocol"]) ?? "";
  const protocols = offered.split(",").map((name) => name.trim());
  return { headers, protocols: protocols.filter((name) => name !== "") };
}

export interface RawConnection {
  readonly socket: Duplex;
  /** What was read behind the request. */
  readonly head: Uint8Array;
}

/** Answers the request with one of the protocols that were offered (or ""), and speaks WebSocket on its connection from then on. */
export async function acceptWebSocket(
  { headers }: WebSocketRequest,
  protocol: string,
  { socket, head }: RawConnection,
): Promise<WebSocketConnection> {
  // Loaded when somebody first needs it: it takes 9 ms and 1.2 MiB.
  const { WebSocketServer } = await import("ws");
  const fixed = { noServer: true, clientTracking: false, perMessageDeflate: false, autoPong: false } as const;
  const server = new WebSocketServer({ ...fixed, ...limits });
  // `SPDY/3.1+portforward.k8s.io` is not a subprotocol by the letter of RFC 6455, so ws is not told of any.
  const { "sec-websocket-protocol": _, ...others } = headers;
  if (protocol) server.on("headers", (lines) => void lines.push(`Sec-WebSocket-Protocol: ${protocol}`));
  const message = new http.IncomingMessage(new Socket());
  Object.assign(message, { method: "GET", headers: others });
  return await new Promise((resolve, reject) => {
    server.once("wsClientError", reject);
    server.handleUpgrade(message, socket, Buffer.from(head), (ws) => {
      // A client that has stopped sending without a close does not wait for anything either.
      socket.once("end", () => ws.terminate());
      resolve(new WebSocketConnection(ws));
    });
  });
}

/** One end of a WebSocket. Messages are read at the pace at which they are taken. */
export class WebSocketConnection {
  readonly #ws: WebSocket;
  #received: WebSocketMessage[] = [];
  #wake: (() => void) | undefined;
  #isOver = false;
  #isClosing = false;
  #failure: Error | undefined;
  #ping: Buffer | undefined;
  /** What the peer gave as its reason to close; undefined for as long as it has not. */
  closedBy: { readonly code: number; readonly reason: string } | undefined;

  constructor(ws: WebSocket) {
    this.#ws = ws;
    ws.on("message", (data, isBinary) => this.#onMessage({ isText: !isBinary, data: bytesOf(data) }));
    ws.on("ping", (data) => this.#onPing(data));
    ws.on("error", (error) => {
      this.#failure ??= error;
      this.#wake?.();
    });
    ws.on("close", (code, reason) => this.#onClose(code, reason.toString()));
  }

  /** Whole messages until the peer closes or is gone. What breaks the protocol or a limit is thrown. */
  async *messages(): AsyncGenerator<WebSocketMessage> {
    for (;;) {
      const batch = this.#received;
      this.#received = [];
      yield* batch;
      if (this.#received.length > 0) continue;
      if (this.#failure) throw this.#failure;
      if (this.#isOver || this.#isClosing) return;
      const woken = new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#ws.resume();
      await woken;
    }
  }

  /** One message made of the parts. Waits where the peer is slow. */
  async send(type: "binary" | "text", ...parts: readonly Uint8Array[]): Promise<void> {
    if (this.#ws.readyState !== this.#ws.OPEN) throw new Error("the connection is closed");
    const [only, ...others] = parts;
    const data = only && others.length === 0 ? only : Buffer.concat(parts);
    const sent = Promise.withResolvers<void>();
    // If it fails, the connection is over, and the next call says so.
    this.#ws.send(data, { binary: type === "binary" }, () => sent.resolve());
    if (this.#ws.bufferedAmount > maxUnsentBytes) await sent.promise;
  }

  /** Says why, then ends the connection after what was sent. What still comes is dropped. */
  close(code = 1000, reason = ""): void {
    this.#isClosing = true;
    this.#received = [];
    this.#ws.resume();
    this.#ws.close(code, reason);
    this.#wake?.();
  }

  #onMessage(message: WebSocketMessage): void {
    if (this.#isClosing) return;
    this.#received.push(message);
    this.#ws.pause();
    this.#wake?.();
  }

  /** Only the last of many pings is answered, and none while the peer does not read. */
  #onPing(data: Buffer): void {
    const isFirst = this.#ping === undefined;
    this.#ping = data;
    if (isFirst) setImmediate(() => this.#answerPing());
  }
  #answerPing(): void {
    const data = this.#ping;
    this.#ping = undefined;
    if (this.#ws.readyState !== this.#ws.OPEN || this.#ws.bufferedAmount > maxUnsentBytes) return;
    this.#ws.pong(data, undefined, () => {});
  }

  #onClose(code: number, reason: string): void {
    this.#isOver = true;
    if (code !== abnormalClosure) this.closedBy = { code, reason };
    this.#wake?.();
  }
}

/** Stands for a connection that ended without a word. */
const abnormalClosure = 1006;

/** By default there is one Buffer for each message; the types know of other settings. */
function bytesOf(data: Buffer | ArrayBuffer | Buffer[]): Buffer {
  if (Array.isArray(data)) return Buffer.concat(data);
  return Buffer.isBuffer(data) ? data : Buffer.from(data);
}
