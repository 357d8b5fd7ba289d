import { Duplex } from "node:stream";

const sliceBytes = 2048;

export interface ReadLimits {
  readonly bytes: number;
  /** Each chunk costs time, however small it is. */
  readonly chunks: number;
}

/**
 * Destroys the socket once more has arrived than the limits allow. This bounds the peer whatever the protocol,
 * including frames that a library answers or ignores by itself.
 */
export function limitReads(socket: Duplex, limits: ReadLimits = unlimited): LimitedSocket {
  return new LimitedSocket(socket, limits);
}
const unlimited: ReadLimits = { bytes: Number.POSITIVE_INFINITY, chunks: Number.POSITIVE_INFINITY };

/** The peer has sent more than it may. */
export class ReadLimitError extends Error {
  override readonly name = "ReadLimitError";
}

export class LimitedSocket extends Duplex {
  readonly #socket: Duplex;
  #sliceBytes = sliceBytes;
  /** Bytes that have arrived and are not handed out yet. */
  #held: Buffer = Buffer.alloc(0);
  #hasEnded = false;
  #isWanted = false;

  constructor(socket: Duplex, limits: ReadLimits) {
    super({ readableHighWaterMark: sliceBytes });
    this.#socket = socket;
    let { bytes, chunks } = limits;
    socket.on("data", (chunk: Buffer) => {
      bytes -= chunk.length;
      chunks--;
      if (bytes < 0) this.destroy(new ReadLimitError(`the server sent more than ${limits.bytes} bytes`));
      else if (chunks < 0) this.destroy(new ReadLimitError(`the server sent more than ${limits.chunks} chunks`));
      else this.#hold(chunk);
    });
    socket.on("end", () => {
      this.#hasEnded = true;
      this.#handOut();
    });
    socket.on("error", (error) => this.destroy(error));
    socket.on("close", () => {
      if (!this.#hasEnded) this.destroy();
    });
  }

  /** Stops slicing: from here on chunks are handed out as they arrive. */
  readWhole(): void {
    this.#sliceBytes = Number.POSITIVE_INFINITY;
  }

  override _read(): void {
    this.#isWanted = true;
    this.#handOut();
  }

  #hold(chunk: Buffer): void {
    this.#held = chunk;
    this.#socket.pause();
    this.#handOut();
  }

  /** Hands out a slice at a time, so that a reader that gives up early does not parse everything that arrived. */
  #handOut(): void {
    if (!this.#isWanted) return;
    if (this.#held.length > 0) {
      const slice = this.#held.subarray(0, this.#sliceBytes);
      this.#held = this.#held.subarray(slice.length);
      this.#isWanted = false;
      this.push(slice);
    } else if (this.#hasEnded) this.push(null);
    else this.#socket.resume();
  }

  override _write(chunk: Buffer, _: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#socket.write(chunk, done);
  }
  override _final(done: () => void): void {
    this.#socket.end(done);
  }
  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#socket.destroy();
    done(error);
  }
}
