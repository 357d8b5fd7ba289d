import { ByteQueue } from "#lib/data/byte-queue.ts";
import { GrpcError } from "./status.ts";

const headBytes = 5;

/** One byte for "not compressed", four for the length, then the message. */
export function frame(bytes: Uint8Array): Buffer {
  const framed = Buffer.allocUnsafe(headBytes + bytes.length);
  framed[0] = 0;
  framed.writeUInt32BE(bytes.length, 1);
  framed.set(bytes, headBytes);
  return framed;
}

/** Splits arriving bytes into messages. Each byte is copied at most once more, however they are split. */
export class GrpcMessageReader {
  readonly #bytes = new ByteQueue();
  readonly #maxMessageBytes: number;

  constructor(maxMessageBytes: number) {
    this.#maxMessageBytes = maxMessageBytes;
  }

  *push(chunk: Uint8Array): Generator<Uint8Array, void> {
    const bytes = this.#bytes;
    bytes.push(chunk);
    while (bytes.size >= headBytes) {
      const head = bytes.peek(headBytes);
      const length = head.readUInt32BE(1);
      if (head[0] !== 0) throw new GrpcError("UNIMPLEMENTED", "the peer sent a compressed message");
      if (length > this.#maxMessageBytes) throw tooLarge(length, this.#maxMessageBytes);
      if (bytes.size < headBytes + length) return;
      bytes.take(headBytes);
      yield bytes.take(length);
    }
  }
}

const tooLarge = (length: number, limit: number): GrpcError =>
  new GrpcError("RESOURCE_EXHAUSTED", `received message larger than max (${length} vs. ${limit})`);
