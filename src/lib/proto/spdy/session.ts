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
  /** What was read behind the handshake. */
  readonly head?: Uint8Array | undefined;
}

/** Gets the data of a stream. Nothing else of the session is read before it is done. */
export type DataHandler = (data: Buffer) => void | Promise<void>;

const maxDataBytes = 256 << 10;

/**
 * The client's end of a SPDY/3.1 connection whose upgrade is done. The servers of this world (all on one library)
 * neither keep to windows nor say when theirs moves, so there are none here either: the pace of a stream is the pace of
 * the connection. Telling such a server of windows would even do harm: it closes without reading what it was sent last,
 * which makes the kernel reset the connection and drop what it had sent itself.
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

  /** Reads until the peer is gone; every stream has ended then. Throws what handlers throw. */
  async run(): Promise<void> {
    try {
      for await (const chunk of chunksOf(this.#socket)) {
        for (const frame of this.#reader.read(chunk)) await this.#receive(frame);
        // Frames that are ignored would otherwise be read without a pause.
        await nextTurn();
      }
    } finally {
      for (const stream of this.#streams.values()) stream.settle("lost");
      this.#streams.clear();
    }
  }

  /** Resets what is still open, and ends the connection. */
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
      // Ours have odd numbers, and these are the answers to them.
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

  /** Answers something of the peer. Nothing more is read from a peer that does not take its answers. */
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

/** One stream that this side has opened. */
export class SpdyStream {
  readonly id: number;
  /** Resolves once the peer took the stream; data before that would be dropped by it. Rejects if it does not. */
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

  /** Nothing goes on in either direction. */
  get isDone(): boolean {
    return this.#isEnded && this.#hasSentEnd;
  }

  /** Waits where the peer is slow. What the peer no longer wants is dropped. */
  async write(data: Uint8Array): Promise<void> {
    await this.opened;
    for (let at = 0; at < data.length; at += maxDataBytes) {
      if (this.#hasSentEnd) return;
      const part = data.subarray(at, at + maxDataBytes);
      await this.#send(dataHead(this.id, part.length), part);
    }
  }

  /** No more data will come from here. */
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
