import { type Socket } from "node:net";
import { type Duplex, type Writable } from "node:stream";
import { type Clock } from "#lib/async/clock.ts";

/** How long a peer may take to read what was written before its socket is cut. */
const lingerMs = 10_000;

/** Resolves when the stream accepts more, or is closed. */
export function drained(stream: Writable): Promise<void> {
  if (!stream.writableNeedDrain || stream.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      stream.off("drain", done);
      stream.off("close", done);
      resolve();
    };
    stream.on("drain", done);
    stream.on("close", done);
  });
}

/** Writes, and waits for a slow peer. */
export async function writeAll(socket: Duplex, ...parts: readonly Uint8Array[]): Promise<void> {
  if (socket.destroyed || socket.writableEnded) throw new Error("the connection is closed");
  socket.cork();
  for (const part of parts) socket.write(part);
  socket.uncork();
  if (socket.writableNeedDrain) await drained(socket);
}

/** Yields what arrives at the reader's pace and leaves the socket open. A broken connection counts as an end. */
export async function* chunksOf(socket: Duplex): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of socket.iterator({ destroyOnReturn: false })) yield chunk;
  } catch {
    // Reset by the peer, or destroyed here: a caller that needs to know checks `readableEnded`.
  } finally {
    // A socket that we have ended closes only once everything sent to it is read. This waits, because the stream
    // notices that its reader has left only later, and would pause then.
    if (socket.writableEnded) setImmediate(() => socket.resume());
  }
}

/**
 * Ends our side after the pending writes, drops what still arrives, and cuts the connection if the peer does not end
 * it.
 */
export function endSoon(socket: Duplex, clock: Clock): void {
  if (socket.destroyed) return;
  socket.on("error", ignore);
  socket.end();
  setImmediate(() => socket.resume());
  const cancel = clock.after(lingerMs, () => socket.destroy());
  socket.once("close", cancel);
}

export const ignore = (): void => {};

/** Calls back after `touch` was not called for the given time; `stop` cancels it. */
export class IdleTimer {
  readonly #clock: Clock;
  readonly #idleMs: number;
  readonly #onIdle: () => void;
  #last: number;
  #cancel: () => void;

  constructor(clock: Clock, idleMs: number, onIdle: () => void) {
    this.#clock = clock;
    this.#idleMs = idleMs;
    this.#onIdle = onIdle;
    this.#last = clock.now();
    this.#cancel = clock.after(idleMs, () => this.#check());
  }
  touch(): void {
    this.#last = this.#clock.now();
  }
  stop(): void {
    this.#cancel();
  }
  #check(): void {
    const left = this.#last + this.#idleMs - this.#clock.now();
    if (left <= 0) return this.#onIdle();
    this.#cancel = this.#clock.after(left, () => this.#check());
  }
}

export interface SpliceOptions {
  readonly clock: Clock;
  readonly idleMs: number;
}

/**
 * Copies bytes both ways, at the pace of the slower side, until one side ends; then the other gets the rest and ends.
 */
export async function splice(one: Duplex, other: Duplex, { clock, idleMs }: SpliceOptions): Promise<void> {
  const cut = () => {
    one.destroy();
    other.destroy();
  };
  const idle = new IdleTimer(clock, idleMs, cut);
  const copy = async (from: Duplex, to: Duplex): Promise<void> => {
    from.on("error", ignore);
    for await (const chunk of chunksOf(from)) {
      idle.touch();
      if (!to.destroyed && !to.writableEnded) await writeAll(to, chunk);
    }
  };
  try {
    await Promise.race([copy(one, other), copy(other, one)]);
  } finally {
    idle.stop();
    endSoon(one, clock);
    endSoon(other, clock);
  }
}

/**
 * The same text for a TCP socket and the TLS socket above it, and different for every other open connection. The peer's
 * address and port are not enough: it may use one port for connections to several addresses of this machine.
 */
export const connectionKey = (
  socket: Pick<Socket, "remoteAddress" | "remotePort" | "localAddress" | "localPort">,
): string => `${socket.remoteAddress} ${socket.remotePort} ${socket.localAddress} ${socket.localPort}`;
