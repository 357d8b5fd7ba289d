import { ByteQueue } from "#lib/data/byte-queue.ts";

/** The kinds of SPDY/3.1 control frames that occur here. */
export const control = {
  synStream: 1,
  synReply: 2,
  rstStream: 3,
  settings: 4,
  ping: 6,
  goAway: 7,
  headers: 8,
  windowUpdate: 9,
} as const;

export const resetStatus = { protocolError: 1, invalidStream: 2, refusedStream: 3, cancel: 5 } as const;

export const flagFin = 1;

/** The peer violated the protocol. */
class SpdyError extends Error {
  override readonly name = "SpdyError";
}

export type SpdyFrame =
  | { readonly type: "data"; readonly streamId: number; readonly isLast: boolean; readonly data: Buffer }
  | { readonly type: "control"; readonly kind: number; readonly flags: number; readonly payload: Buffer };

/** A larger frame is neither a header block of ours nor data from a sane peer. */
const maxFrameBytes = 8 << 20;

/**
 * Bytes in, whole frames out.
 *
 *   data:     0·stream id (31)          flags (8)·length (24)   payload
 *   control:  1·version (15)·kind (16)  flags (8)·length (24)   payload
 */
export class SpdyFrameReader {
  readonly #bytes = new ByteQueue();

  *read(chunk: Uint8Array): Generator<SpdyFrame> {
    this.#bytes.push(chunk);
    for (;;) {
      const frame = this.#next();
      if (!frame) return;
      yield frame;
    }
  }

  #next(): SpdyFrame | undefined {
    const bytes = this.#bytes;
    if (bytes.size < 8) return undefined;
    const head = bytes.peek(8);
    const first = head.readUInt32BE(0);
    const second = head.readUInt32BE(4);
    const flags = second >>> 24;
    const length = second & 0xffffff;
    if (length > maxFrameBytes) throw new SpdyError(`a frame has ${length} bytes`);
    if (bytes.size < 8 + length) return undefined;
    bytes.take(8);
    const payload = bytes.take(length);
    if (first < 0x8000_0000) {
      return { type: "data", streamId: first, isLast: (flags & flagFin) !== 0, data: payload };
    }
    const version = (first >>> 16) & 0x7fff;
    if (version !== 3) throw new SpdyError(`a frame is of SPDY version ${version}`);
    return { type: "control", kind: first & 0xffff, flags, payload };
  }
}

export function dataHead(streamId: number, length: number, flags = 0): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt32BE(streamId, 0);
  head.writeUInt32BE((flags << 24) | length, 4);
  return head;
}

export function controlFrame(kind: number, payload: Uint8Array, flags = 0): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt32BE((0x8003_0000 | kind) >>> 0, 0);
  head.writeUInt32BE(((flags << 24) | payload.length) >>> 0, 4);
  return Buffer.concat([head, payload]);
}

/** Opens a stream. `block` comes from `HeaderEncoder`. */
export const synStream = (streamId: number, block: Uint8Array): Buffer =>
  controlFrame(control.synStream, Buffer.concat([words(streamId, 0), Buffer.alloc(2), block]));

export const synReply = (streamId: number, block: Uint8Array): Buffer =>
  controlFrame(control.synReply, Buffer.concat([words(streamId), block]));

export const rstStream = (streamId: number, status: number): Buffer =>
  controlFrame(control.rstStream, words(streamId, status));

export const ping = (id: number): Buffer => controlFrame(control.ping, words(id));

export const goAway = (lastStreamId: number, status = 0): Buffer =>
  controlFrame(control.goAway, words(lastStreamId, status));

function words(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value, index * 4);
  return bytes;
}
