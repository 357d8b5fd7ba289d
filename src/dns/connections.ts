import { type Socket } from "node:net";
import { type Clock } from "#lib/async/clock.ts";
import { queryBytes } from "./message.ts";
import { DnsMessageReader, frame } from "./upstream.ts";

const maxConnections = 500;
const maxPerClient = 32;
/** A connection without a complete question ends after this time, however many bytes it sends. */
const idleMs = 10_000;
/** How long a started question may take to arrive. */
const questionMs = 5_000;
/** How many answers one connection may wait for, and how many bytes of answers it may leave unread. */
const maxPipelined = 100;
const maxUnreadBytes = 256 * 1024;

/** Answers one message; undefined closes the connection. */
export type AnswerOver = (message: Buffer, address: string) => Buffer | undefined | Promise<Buffer | undefined>;

interface Connection {
  readonly socket: Socket;
  readonly address: string;
  underway: number;
  /** When it was opened, or last sent a complete question. */
  usedMs: number;
  stopTimers(): void;
}

/** Open connections. When there are too many, the one that was idle the longest is closed. */
export class DnsConnections {
  readonly #clock: Clock;
  readonly #answer: AnswerOver;
  readonly #open = new Set<Connection>();
  readonly #perClient = new Map<string, number>();

  constructor(clock: Clock, answer: AnswerOver) {
    this.#clock = clock;
    this.#answer = answer;
  }

  accept(socket: Socket, address: string): void {
    const isGreedy = (this.#perClient.get(address) ?? 0) >= maxPerClient;
    const hasRoom = isGreedy
      ? this.#closeIdle((other) => other.address === address)
      : this.#open.size < maxConnections || this.#closeIdle(() => true);
    socket.on("error", () => socket.destroy());
    if (hasRoom) this.#serve(socket, address);
    else socket.destroy();
  }

  closeAll(): void {
    for (const { socket } of this.#open) socket.destroy();
  }

  /** Closes the matching connection that was idle the longest; false if all of them wait for answers. */
  #closeIdle(is: (connection: Connection) => boolean): boolean {
    let oldest: Connection | undefined;
    for (const connection of this.#open) {
      if (connection.underway > 0 || !is(connection)) continue;
      if (!oldest || connection.usedMs < oldest.usedMs) oldest = connection;
    }
    if (!oldest) return false;
    this.#forget(oldest);
    oldest.socket.destroy();
    return true;
  }

  #forget(connection: Connection): void {
    connection.stopTimers();
    if (!this.#open.delete(connection)) return;
    const left = (this.#perClient.get(connection.address) ?? 1) - 1;
    if (left > 0) this.#perClient.set(connection.address, left);
    else this.#perClient.delete(connection.address);
  }

  #serve(socket: Socket, address: string): void {
    const frames = new DnsMessageReader(queryBytes);
    const end = () => void socket.destroy();
    let stopIdle = this.#clock.after(idleMs, end);
    let stopQuestion: (() => void) | undefined;
    const stopTimers = () => {
      stopIdle();
      stopQuestion?.();
    };
    const connection: Connection = { socket, address, underway: 0, usedMs: this.#clock.now(), stopTimers };
    this.#open.add(connection);
    this.#perClient.set(address, (this.#perClient.get(address) ?? 0) + 1);
    socket.on("close", () => this.#forget(connection));
    socket.on("data", (chunk: Buffer) => {
      const messages = readMessages(frames, chunk);
      if (!messages) return end();
      if (messages.length > 0) {
        stopTimers();
        stopQuestion = undefined;
        stopIdle = this.#clock.after(idleMs, end);
        connection.usedMs = this.#clock.now();
      }
      if (frames.isWithin) stopQuestion ??= this.#clock.after(questionMs, end);
      for (const message of messages) {
        if (socket.destroyed) return;
        void this.#reply(connection, message);
      }
    });
  }

  /** Sends answers in the order in which they become ready, as DNS over TCP allows. */
  async #reply(connection: Connection, message: Buffer): Promise<void> {
    const { socket, address } = connection;
    if (connection.underway >= maxPipelined || socket.writableLength > maxUnreadBytes) {
      socket.destroy();
      return;
    }
    connection.underway++;
    try {
      const bytes = await this.#answer(message, address);
      if (!bytes) socket.destroy();
      else if (socket.writable) socket.write(frame(bytes));
    } finally {
      connection.underway--;
    }
  }
}

/** Undefined if the client announces a message that is too long for a question. */
function readMessages(frames: DnsMessageReader, chunk: Buffer): Buffer[] | undefined {
  try {
    return frames.push(chunk);
  } catch {
    return undefined;
  }
}
