import type { ServerResponse } from "node:http";
import type { ServerHttp2Stream } from "node:http2";
import { type WatchLoad } from "#api/exchange.ts";
import { type Clock } from "#lib/async/clock.ts";
import { type WatchWriter, type Wire } from "./respond.ts";
import { type WireRequest } from "./wire-request.ts";

/** With more than this unread, a watcher gets no further events until it has read some. */
const fullWatchBytes = 256 << 10;

/** How long a client of an ended watch may take to read the rest. */
const lingerMs = 30_000;

interface Watching {
  readonly stream: ServerHttp2Stream | ServerResponse;
  readonly request: WireRequest;
}

interface WatchStreamDeps {
  readonly clock: Clock;
  /** Open watches. */
  readonly watches: Set<WatchStream>;
}

/**
 * Writes events at the reader's pace; either side can end the watch. This and the sinks above are classes, because they
 * are used for every event: object literals with getters would each have their own hidden class and be slow.
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
