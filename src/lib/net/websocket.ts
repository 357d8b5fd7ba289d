import { Socket } from "node:net";
import { type Duplex } from "node:stream";
import type { WebSocket } from "ws";
import { http } from "./node-http.ts";
import { withoutTokens } from "./upgrade.ts";

/** How much a peer may make us hold. A peer that exceeds it is disconnected with code 1009 or 1008. */
const limits = {
  /** Size of one message, however many fragments it has. Clients send their input in messages of about 32 KiB. */
  maxPayload: 4 << 20,
  maxFragments: 1024,
  /** Chunks of the connection that wait for the rest of their frame. */
  maxBufferedChunks: 16 << 10,
  /** How long a peer has to answer a close. */
  closeTimeout: 10_000,
};

/** `send` waits while the peer has left this much unread. */
const maxUnsentBytes = 64 << 10;

export interface WebSocketMessage {
  readonly isText: boolean;
  readonly data: Buffer;
}

export interface WebSocketRequest {
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Subprotocols that the client offers, in order of preference. */
  readonly protocols: readonly string[];
}

/** The client's request for a WebSocket cannot be granted. */
export class WebSocketError extends Error {
  override readonly name = "WebSocketError";
}

/** Parses a request for a WebSocket; undefined if it is not one. Throws if it is invalid. */
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
  /** Bytes that were read behind the request. */
  readonly head: Uint8Array;
}

/**
 * Accepts the request with one of the offered protocols (or ""), and speaks WebSocket on its connection from then on.
 */
export async function acceptWebSocket(
  { headers }: WebSocketRequest,
  protocol: string,
  { socket, head }: RawConnection,
): Promise<WebSocketConnection> {
  // Loaded on first use: it takes 9 ms and 1.2 MiB.
  const { WebSocketServer } = await import("ws");
  const fixed = { noServer: true, clientTracking: false, perMessageDeflate: false, autoPong: false } as const;
  const server = new WebSocketServer({ ...fixed, ...limits });
  // RFC 6455 does not allow a subprotocol such as `SPDY/3.1+portforward.k8s.io`, so this header is hidden from ws.
  const { "sec-websocket-protocol": _, ...others } = headers;
  if (protocol) server.on("headers", (lines) => void lines.push(`Sec-WebSocket-Protocol: ${protocol}`));
  const message = new http.IncomingMessage(new Socket());
  Object.assign(message, { method: "GET", headers: others });
  return await new Promise((resolve, reject) => {
    server.once("wsClientError", reject);
    server.handleUpgrade(message, socket, Buffer.from(head), (ws) => {
      // A client that stops sending without a close does not expect anything either.
      socket.once("end", () => ws.terminate());
      resolve(new WebSocketConnection(ws));
    });
  });
}

/** One end of a WebSocket. Messages are read at the consumer's pace. */
export class WebSocketConnection {
  readonly #ws: WebSocket;
  #received: WebSocketMessage[] = [];
  #wake: (() => void) | undefined;
  #isOver = false;
  #isClosing = false;
  #failure: Error | undefined;
  #ping: Buffer | undefined;
  /** The code and reason that the peer closed with; undefined as long as it has not. */
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

  /** Yields whole messages until the peer closes or is gone. Throws on a violation of the protocol or of a limit. */
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

  /** Sends one message that consists of the parts. Waits for a slow peer. */
  async send(type: "binary" | "text", ...parts: readonly Uint8Array[]): Promise<void> {
    if (this.#ws.readyState !== this.#ws.OPEN) throw new Error("the connection is closed");
    const [only, ...others] = parts;
    const data = only && others.length === 0 ? only : Buffer.concat(parts);
    const sent = Promise.withResolvers<void>();
    // If it fails, the connection is over, and the next call reports that.
    this.#ws.send(data, { binary: type === "binary" }, () => sent.resolve());
    if (this.#ws.bufferedAmount > maxUnsentBytes) await sent.promise;
  }

  /** Sends the reason, then ends the connection after pending messages. What still arrives is dropped. */
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

  /** Answers only the last of many pings, and none while the peer does not read. */
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

/** The code for a connection that ended without a close frame. */
const abnormalClosure = 1006;

/** With our settings each message is one Buffer; the types allow for other settings. */
function bytesOf(data: Buffer | ArrayBuffer | Buffer[]): Buffer {
  if (Array.isArray(data)) return Buffer.concat(data);
  return Buffer.isBuffer(data) ? data : Buffer.from(data);
}
