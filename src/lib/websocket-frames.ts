import { createHash } from "node:crypto";
import { ByteQueue } from "./byte-queue.ts";

/** The kinds of frames of RFC 6455. */
export const opcode = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

/** Why a connection ends, as its close frame says it. */
export const closeCode = {
  normal: 1000,
  goingAway: 1001,
  protocolError: 1002,
  none: 1005,
  tooBig: 1009,
  internalError: 1011,
} as const;

export interface WebSocketFrame {
  readonly isFinal: boolean;
  readonly opcode: number;
  readonly payload: Buffer;
}

/** The peer broke the protocol, or a limit. */
export class WebSocketError extends Error {
  override readonly name = "WebSocketError";
  readonly code: number;
  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

const protocolError = (message: string): WebSocketError => new WebSocketError(closeCode.protocolError, message);

/**
 * Bytes in, whole frames out.
 *
 *   0: FIN·0·0·0·opcode   1: MASK·length (126: 2 more bytes, 127: 8 more bytes)   [mask: 4 bytes]   payload
 */
export class FrameReader {
  readonly #bytes = new ByteQueue();
  readonly #masked: boolean;
  readonly #maxPayload: number;

  /** What clients send is masked, what servers send is not. */
  constructor(options: { readonly masked: boolean; readonly maxPayload: number }) {
    this.#masked = options.masked;
    this.#maxPayload = options.maxPayload;
  }

  *read(chunk: Uint8Array): Generator<WebSocketFrame> {
    this.#bytes.push(chunk);
    for (;;) {
      const frame = this.#next();
      if (!frame) return;
      yield frame;
    }
  }

  #next(): WebSocketFrame | undefined {
    const bytes = this.#bytes;
    if (bytes.size < 2) return undefined;
    const start = bytes.peek(2);
    const first = start[0] ?? 0;
    const short = (start[1] ?? 0) & 0x7f;
    const masked = ((start[1] ?? 0) & 0x80) !== 0;
    const frame = { isFinal: (first & 0x80) !== 0, opcode: first & 0x0f };
    checkStart(first, short);
    if (masked !== this.#masked) throw protocolError(masked ? "a server must not mask" : "a client must mask");
    const lengthEnd = short === 127 ? 10 : short === 126 ? 4 : 2;
    if (bytes.size < lengthEnd) return undefined;
    const length = short < 126 ? short : readLength(bytes.peek(lengthEnd));
    if (length > this.#maxPayload) throw tooBig(this.#maxPayload);
    const headLength = lengthEnd + (masked ? 4 : 0);
    if (bytes.size < headLength + length) return undefined;
    const mask = bytes.take(headLength).subarray(lengthEnd);
    const payload = bytes.take(length);
    if (masked) applyMask(payload, mask);
    return { ...frame, payload };
  }
}

function checkStart(first: number, short: number): void {
  const code = first & 0x0f;
  if ((first & 0x70) !== 0) throw protocolError("a reserved bit is set");
  if ((code > opcode.binary && code < opcode.close) || code > opcode.pong)
    throw protocolError(`unknown opcode ${code}`);
  if (code >= opcode.close && ((first & 0x80) === 0 || short > 125)) throw protocolError("a control frame is too long");
}

function readLength(head: Buffer): number {
  if (head.length === 4) return head.readUInt16BE(2);
  const length = head.readBigUInt64BE(2);
  return length > BigInt(Number.MAX_SAFE_INTEGER) ? Number.POSITIVE_INFINITY : Number(length);
}

export const tooBig = (limit: number): WebSocketError =>
  new WebSocketError(closeCode.tooBig, `a message has more than ${limit} bytes`);

function applyMask(payload: Uint8Array, mask: Uint8Array): void {
  for (let i = 0; i < payload.length; i++) payload[i] = (payload[i] ?? 0) ^ (mask[i & 3] ?? 0);
}

/** A whole message in one frame; with a mask as clients send it. */
export function encodeFrame(code: number, payload: Uint8Array, mask?: Uint8Array): Buffer {
  const head = frameHead(code, payload.length, mask);
  if (!mask) return Buffer.concat([head, payload]);
  const frame = Buffer.concat([head, mask, payload]);
  applyMask(frame.subarray(head.length + mask.length), mask);
  return frame;
}

export function frameHead(code: number, length: number, mask?: Uint8Array): Buffer {
  const lengthBytes = length < 126 ? 0 : length < 0x10000 ? 2 : 8;
  const head = Buffer.alloc(2 + lengthBytes);
  head[0] = 0x80 | code;
  head[1] = (mask ? 0x80 : 0) | (lengthBytes === 0 ? length : lengthBytes === 2 ? 126 : 127);
  if (lengthBytes === 2) head.writeUInt16BE(length, 2);
  if (lengthBytes === 8) head.writeBigUInt64BE(BigInt(length), 2);
  return head;
}

/** What the server answers to the client's key, to show that it speaks the protocol. */
export const acceptKey = (key: string): string =>
  createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
