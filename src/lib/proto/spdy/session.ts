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
  synReply,
  synStream,
} from "./frames.ts";
import { HeaderDecoder, HeaderEncoder, type SpdyHeaders } from "./headers.ts";

export interface SpdySessionOptions {
  readonly clock: Clock;
  /** Bytes that were read behind the handshake. */
  readonly head?: Uint8Array | undefined;
  /** Makes this the server's end: called for each stream that the peer opens. Undefined refuses the stream. */
  accept?(headers: SpdyHeaders, stream: SpdyStream): DataHandler | undefined;
}

/** Receives the data of a stream. Nothing else of the session is read until it is done. */
export type DataHandler = (data: Buffer) => void | Promise<void>;

const maxDataBytes = 256 << 10;

/** How many streams a peer may have open at once. */
const maxAccepted = 1000;

/**
 * One end of a SPDY/3.1 connection after the upgrade, the client's unless it accepts streams. Existing servers (all use one library) neither respect
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
  readonly #accept: SpdySessionOptions["accept"];
  readonly #decoder: HeaderDecoder | undefined;
  #nextId: number;

  constructor(socket: Duplex, { clock, head, accept }: SpdySessionOptions) {
    this.#socket = socket;
    this.#clock = clock;
    this.#accept = accept;
    this.#decoder = accept ? new HeaderDecoder() : undefined;
    this.#nextId = accept ? 2 : 1;
    socket.on("error", ignore);
    if (head && head.length > 0) socket.unshift(head);
  }

  open(headers: SpdyHeaders, onData: DataHandler): SpdyStream {
    const id = this.#nextId;
    this.#nextId += 2;
    const stream = new SpdyStream(id, onData, this.#send);
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
      this.#decoder?.[Symbol.dispose]();
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
      // Pings with numbers like those of our own streams are answers to ours.
      if (payload.length >= 4 && payload.readUInt32BE(0) % 2 !== this.#nextId % 2)
        await this.#reply(ping(payload.readUInt32BE(0)));
      return;
    }
    if (payload.length < 4) return;
    const stream = this.#streams.get(payload.readUInt32BE(0) & 0x7fff_ffff);
    if (kind === control.synStream) return await this.#onOpen(payload, (flags & flagFin) !== 0);
    if (!stream) return;
    if (kind === control.synReply) stream.onReply();
    if (kind === control.rstStream) stream.settle("reset");
    if ((kind === control.synReply || kind === control.headers) && (flags & flagFin) !== 0) stream.settle("finished");
  }

  async #onOpen(payload: Buffer, isLast: boolean): Promise<void> {
    const id = payload.readUInt32BE(0) & 0x7fff_ffff;
    // Read in any case: later blocks refer to this one.
    const headers = await this.#decoder?.decode(payload.subarray(10));
    for (const [known, { isDone }] of this.#streams) if (isDone) this.#streams.delete(known);
    const mayOpen = headers && !this.#streams.has(id) && this.#streams.size < maxAccepted;
    const stream = new SpdyStream(id, (data) => handle?.(data), this.#send);
    const handle = mayOpen ? this.#accept?.(headers, stream) : undefined;
    if (!handle) return await this.#reply(rstStream(id, resetStatus.refusedStream));
    this.#streams.set(id, stream);
    await this.#reply(synReply(id, this.#headers.encode({})));
    stream.onReply();
    if (isLast) stream.settle("finished");
  }

  readonly #send = (...parts: readonly Uint8Array[]): Promise<void> => writeAll(this.#socket, ...parts);

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
