import type { ServerResponse } from "node:http";
import type { ServerHttp2Stream } from "node:http2";
import { type WatchLoad } from "#api/exchange.ts";
import { type Clock } from "#lib/async/clock.ts";
import { type WatchWriter, type Wire } from "./respond.ts";
import { type WireRequest } from "./wire-request.ts";

/** With more than this unread, a watcher gets no further events until it has read them. */
const fullWatchBytes = 256 << 10;

/** How long a watch that was ended may take to read the rest. */
const lingerMs = 30_000;

interface Watching {
  readonly stream: ServerHttp2Stream | ServerResponse;
  readonly request: WireRequest;
}

interface WatchStreamDeps {
  readonly clock: Clock;
  /** Those that are open. */
  readonly watches: Set<WatchStream>;
}

/**
 * Events are written at the pace at which they are read; the watch ends when either side says so. It is a class, and so are
 * the sinks above it, because all of them are asked for every event: objects with getters of their own have each a shape of
 * their own, and are slow to ask.
 */
export class WatchStream implements WatchWriter {
  readonly #stream: ServerHttp2Stream | ServerResponse;
  readonly #request: WireRequest;
  readonly #deps: WatchStreamDeps;
  #isOver = false;
  #stop = () => {};

  constructor({ stream, request }: Watching, deps: WatchStreamDeps) {
    this.#stream = stream;
    this.#request = request;
    this.#deps = deps;
  }

  start(wire: Extract<Wire, { type: "watch" }>): void {
    this.#deps.watches.add(this);
    this.#stream.once("close", () => this.#leave());
    this.#stream.on("drain", () => this.#request.setUnread(0));
    this.#stop = wire.start(this);
    if (this.#isOver) this.#stop();
  }

  write(bytes: Uint8Array): void {
    if (!this.#isOver && !this.#stream.write(bytes)) this.#request.setUnread(this.#stream.writableLength);
  }

  get load(): WatchLoad {
    if (!this.#request.hasRoom || this.#stream.writableLength > fullWatchBytes) return "full";
    return this.#stream.writableNeedDrain ? "busy" : "idle";
  }

  onIdle(wake: () => void): void {
    if (this.#stream.writableNeedDrain) this.#stream.once("drain", wake);
    else if (this.#request.hasRoom) wake();
    else this.#request.onRoom(wake);
  }

  end(): void {
    if (this.#isOver) return;
    this.#leave();
    const stream = this.#stream;
    stream.end();
    const cancel = this.#deps.clock.after(lingerMs, () => stream.destroy());
    stream.once("close", cancel);
  }

  #leave(): void {
    this.#isOver = true;
    this.#deps.watches.delete(this);
    this.#stop();
  }
}
