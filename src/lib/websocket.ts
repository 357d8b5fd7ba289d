import { randomBytes } from "node:crypto";
import { type Duplex } from "node:stream";
import { type Clock } from "./clock.ts";
import { chunksOf, endSoon, ignore, writeAll } from "./sockets.ts";
import {
  acceptKey,
  closeCode,
  encodeFrame,
  FrameReader,
  frameHead,
  opcode,
  tooBig,
  WebSocketError,
  type WebSocketFrame,
} from "./websocket-frames.ts";

export interface WebSocketMessage {
  readonly isText: boolean;
  readonly data: Buffer;
}

export interface WebSocketOptions {
  readonly role: "server" | "client";
  readonly clock: Clock;
  /** What was read behind the handshake. */
  readonly head?: Uint8Array | undefined;
  readonly maxMessageBytes?: number;
}

/** As much as Go's WebSocket servers take. */
const defaultMaxMessage = 32 << 20;

/** One end of a WebSocket whose handshake is done (RFC 6455, no extensions). */
export class WebSocketConnection {
  readonly #socket: Duplex;
  readonly #clock: Clock;
  readonly #isClient: boolean;
  readonly #reader: FrameReader;
  readonly #maxMessage: number;
  #parts: Buffer[] = [];
  #partsSize = 0;
  #isText = false;
  #closeSent = false;
  /** What the peer gave as its reason to close; undefined for as long as it has not. */
  closedBy: { readonly code: number; readonly reason: string } | undefined;

  constructor(socket: Duplex, { role, clock, head, maxMessageBytes = defaultMaxMessage }: WebSocketOptions) {
    this.#socket = socket;
    this.#clock = clock;
    this.#isClient = role === "client";
    this.#maxMessage = maxMessageBytes;
    this.#reader = new FrameReader({ masked: !this.#isClient, maxPayload: maxMessageBytes });
    socket.on("error", ignore);
    if (head && head.length > 0) socket.unshift(head);
  }

  /**
   * Whole messages, at the pace at which they are taken, until the peer closes or is gone. Pings are answered on the
   * way. What breaks the protocol closes the connection and is thrown.
   */
  async *messages(): AsyncGenerator<WebSocketMessage> {
    try {
      for await (const chunk of chunksOf(this.#socket)) {
        for (const frame of this.#reader.read(chunk)) {
          const message = await this.#receive(frame);
          if (message) yield message;
          if (this.closedBy) return;
        }
      }
    } catch (error) {
      if (error instanceof WebSocketError) this.close(error.code, error.message);
      throw error;
    }
  }

  /** One message made of the parts, which are not copied by a server. Waits where the peer is slow. */
  async send(type: "binary" | "text", ...parts: readonly Uint8Array[]): Promise<void> {
    if (this.#closeSent) throw new Error("the connection is closed");
    const length = parts.reduce((sum, part) => sum + part.length, 0);
    const code = opcode[type];
    if (this.#isClient) await writeAll(this.#socket, encodeFrame(code, Buffer.concat(parts, length), randomBytes(4)));
    else await writeAll(this.#socket, frameHead(code, length), ...parts);
  }

  async ping(payload: Uint8Array = new Uint8Array()): Promise<void> {
    await this.#control(opcode.ping, payload);
  }

  /** Says why, then ends the connection after what was sent. A second call does nothing. */
  close(code: number = closeCode.normal, reason = ""): void {
    if (this.#closeSent) return;
    this.#closeSent = true;
    const text = Buffer.from(reason).subarray(0, 123);
    const payload = Buffer.alloc(code === closeCode.none ? 0 : 2 + text.length);
    if (payload.length > 0) {
      payload.writeUInt16BE(code);
      text.copy(payload, 2);
    }
    if (!this.#socket.destroyed && !this.#socket.writableEnded) {
      this.#socket.write(encodeFrame(opcode.close, payload, this.#mask()));
    }
    endSoon(this.#socket, this.#clock);
  }

  async #receive(frame: WebSocketFrame): Promise<WebSocketMessage | undefined> {
    switch (frame.opcode) {
      case opcode.ping:
        await this.#control(opcode.pong, frame.payload);
        return undefined;
      case opcode.pong:
        return undefined;
      case opcode.close:
        this.#onClose(frame.payload);
        return undefined;
      default:
        return this.#join(frame);
    }
  }

  /** The message that this frame completes. */
  #join({ opcode: code, isFinal, payload }: WebSocketFrame): WebSocketMessage | undefined {
    const continues = code === opcode.continuation;
    if (continues !== this.#parts.length > 0) {
      throw new WebSocketError(closeCode.protocolError, "the fragments of two messages are mixed up");
    }
    if (!continues) this.#isText = code === opcode.text;
    if (isFinal && !continues) return { isText: this.#isText, data: payload };
    this.#parts.push(payload);
    this.#partsSize += payload.length;
    if (this.#partsSize > this.#maxMessage) throw tooBig(this.#maxMessage);
    if (!isFinal) return undefined;
    const data = Buffer.concat(this.#parts, this.#partsSize);
    this.#parts = [];
    this.#partsSize = 0;
    return { isText: this.#isText, data };
  }

  #onClose(payload: Buffer): void {
    const code = payload.length >= 2 ? payload.readUInt16BE(0) : closeCode.none;
    this.closedBy = { code, reason: payload.toString("utf8", 2) };
    this.close(code);
  }

  async #control(code: number, payload: Uint8Array): Promise<void> {
    if (this.#closeSent || this.#socket.destroyed) return;
    await writeAll(this.#socket, encodeFrame(code, payload, this.#mask()));
  }

  #mask(): Uint8Array | undefined {
    return this.#isClient ? randomBytes(4) : undefined;
  }
}

export interface WebSocketRequest {
  readonly key: string;
  /** Subprotocols that the client offers, the one it likes best first. */
  readonly protocols: readonly string[];
}

/** What a client asks for, if its request is one for a WebSocket; throws where it is a bad one. */
export function readWebSocketRequest(
  headers: Readonly<Record<string, string | undefined>>,
): WebSocketRequest | undefined {
  if (headers.upgrade?.toLowerCase() !== "websocket") return undefined;
  const key = headers["sec-websocket-key"] ?? "";
  const version = headers["sec-websocket-version"] ?? "";
  if (version !== "13") throw new WebSocketError(closeCode.protocolError, `WebSocket version "${version}" is not 13`);
  if (Buffer.from(key, "base64").length !== 16) throw new WebSocketError(closeCode.protocolError, "bad WebSocket key");
  const protocols = (headers["sec-websocket-protocol"] ?? "").split(",").map((name) => name.trim());
  return { key, protocols: protocols.filter((name) => name !== "") };
}

/** The bytes that make the connection a WebSocket. */
export function webSocketAcceptance({ key }: WebSocketRequest, protocol: string): string {
  const lines = ["HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade"];
  lines.push(`Sec-WebSocket-Accept: ${acceptKey(key)}`);
  if (protocol) lines.push(`Sec-WebSocket-Protocol: ${protocol}`);
  return `${lines.join("\r\n")}\r\n\r\n`;
}
