import { type Duplex } from "node:stream";
import { type Clock } from "#lib/async/clock.ts";
import { nextTurn } from "#lib/async/turns.ts";
import { chunksOf, drained, endSoon, ignore, writeAll } from "#lib/net/sockets.ts";
import {
  control,
  dataHead,
  flagFin,
  goAway,
  ping,
  resetStatus,
  rstStream,
  type SpdyFrame,
  SpdyFrameReader,
  synStream,
} from "./frames.ts";
import { HeaderEncoder, type SpdyHeaders } from "./headers.ts";

export interface SpdySessionOptions {
  readonly clock: Clock;
  /** Bytes that were read behind the handshake. */
  readonly head?: Uint8Array | undefined;
}

/** Receives the data of a stream. Nothing else of the session is read until it is done. */
export type DataHandler = (data: Buffer) => void | Promise<void>;

const maxDataBytes = 256 << 10;

/**
 * The client's end of a SPDY/3.1 connection after the upgrade. Existing servers (all use one library) neither respect
 * flow-control windows nor send window updates, so there are none here: a stream is as fast as its connection. Sending
 * window updates would even do harm: such a server closes without reading what it was sent last, which makes the kernel
 * reset the connection and drop what the server had sent.
 */
export class SpdySession {
  readonly #socket: Duplex;
  readonly #clock: Clock;
  readonly #reader = new SpdyFrameReader();
  readonly #headers = new HeaderEncoder();
  readonly #streams = new Map<number, SpdyStream>();
  #nextId = 1;

  constructor(socket: Duplex, { clock, head }: SpdySessionOptions) {
    this.#socket = socket;
    this.#clock = clock;
    socket.on("error", ignore);
    if (head && head.length > 0) socket.unshift(head);
  }

  open(headers: SpdyHeaders, onData: DataHandler): SpdyStream {
    const id = this.#nextId;
    this.#nextId += 2;
    const send = (...parts: readonly Uint8Array[]) => writeAll(this.#socket, ...parts);
    const stream = new SpdyStream(id, onData, send);
    this.#streams.set(id, stream);
    this.#write(synStream(id, this.#headers.encode(headers)));
    return stream;
  }

  /** Reads until the peer is gone; by then every stream has ended. Throws what handlers throw. */
  async run(): Promise<void> {
    try {
      for await (const chunk of chunksOf(this.#socket)) {
        for (const frame of this.#reader.read(chunk)) await this.#receive(frame);
        // Without this, ignored frames would be read without a pause.
        await nextTurn();
      }
    } finally {
      for (const stream of this.#streams.values()) stream.settle("lost");
      this.#streams.clear();
    }
  }

  /** Resets open streams, and ends the connection. */
  close(): void {
    for (const [id, stream] of this.#streams) {
      if (!stream.isDone) this.#write(rstStream(id, resetStatus.cancel));
    }
    this.#write(goAway(0));
    endSoon(this.#socket, this.#clock);
  }

  async #receive(frame: SpdyFrame): Promise<void> {
    if (frame.type === "data") return await this.#onData(frame);
    const { kind, flags, payload } = frame;
    if (kind === control.ping) {
      // Our streams have odd numbers, and these are the answers to them.
      if (payload.length >= 4 && payload.readUInt32BE(0) % 2 === 0) await this.#reply(ping(payload.readUInt32BE(0)));
      return;
    }
    if (payload.length < 4) return;
    const stream = this.#streams.get(payload.readUInt32BE(0) & 0x7fff_ffff);
    if (kind === control.synStream) await this.#reply(rstStream(payload.readUInt32BE(0), resetStatus.refusedStream));
    if (!stream) return;
    if (kind === control.synReply) stream.onReply();
    if (kind === control.rstStream) stream.settle("reset");
    if ((kind === control.synReply || kind === control.headers) && (flags & flagFin) !== 0) stream.settle("finished");
  }

  async #onData({ streamId, data, isLast }: Extract<SpdyFrame, { type: "data" }>): Promise<void> {
    const stream = this.#streams.get(streamId);
    if (!stream) return await this.#reply(rstStream(streamId, resetStatus.invalidStream));
    if (data.length > 0) await stream.onData(data);
    if (isLast) stream.settle("finished");
  }

  /** Replies to the peer. Nothing more is read from a peer that does not read the replies. */
  async #reply(bytes: Uint8Array): Promise<void> {
    this.#write(bytes);
    await drained(this.#socket);
  }

  #write(bytes: Uint8Array): void {
    if (!this.#socket.destroyed && !this.#socket.writableEnded) this.#socket.write(bytes);
  }
}

/** How the peer's half of a stream ended. `lost`: with the connection. */
export type StreamEnd = "finished" | "reset" | "lost";

/** One stream opened by this side. */
export class SpdyStream {
  readonly id: number;
  /** Resolves once the peer has accepted the stream; it would drop earlier data. Rejects if it refuses. */
  readonly opened: Promise<void>;
  readonly ended: Promise<StreamEnd>;
  readonly #opened = Promise.withResolvers<void>();
  readonly #ended = Promise.withResolvers<StreamEnd>();
  readonly #handle: DataHandler;
  readonly #send: (...parts: readonly Uint8Array[]) => Promise<void>;
  #isEnded = false;
  #hasSentEnd = false;

  constructor(id: number, handle: DataHandler, send: (...parts: readonly Uint8Array[]) => Promise<void>) {
    this.id = id;
    this.#handle = handle;
    this.#send = send;
    this.opened = this.#opened.promise;
    this.opened.catch(ignore);
    this.ended = this.#ended.promise;
  }

  /** Both directions have ended. */
  get isDone(): boolean {
    return this.#isEnded && this.#hasSentEnd;
  }

  /** Waits for a slow peer. Data that the peer no longer wants is dropped. */
  async write(data: Uint8Array): Promise<void> {
    await this.opened;
    for (let at = 0; at < data.length; at += maxDataBytes) {
      if (this.#hasSentEnd) return;
      const part = data.subarray(at, at + maxDataBytes);
      await this.#send(dataHead(this.id, part.length), part);
    }
  }

  /** Says that no more data will come. */
  async end(): Promise<void> {
    await this.opened;
    if (this.#hasSentEnd) return;
    this.#hasSentEnd = true;
    await this.#send(dataHead(this.id, 0, flagFin));
  }

  onReply(): void {
    this.#opened.resolve();
  }
  async onData(data: Buffer): Promise<void> {
    await this.#handle(data);
  }
  settle(end: StreamEnd): void {
    if (end !== "finished") {
      this.#hasSentEnd = true;
      this.#opened.reject(new Error(`the stream was ${end} before it was open`));
    }
    this.#isEnded = true;
    this.#ended.resolve(end);
  }
}
