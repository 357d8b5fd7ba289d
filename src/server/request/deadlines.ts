import { badRequest, requestTimeout } from "#api/status.ts";
import { type Clock } from "#lib/async/clock.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { parseDuration } from "#schema/duration.ts";
import { type Context, isLongRunning } from "./pipeline.ts";

interface Pending {
  readonly dueMs: number;
  expire(): void;
}

/** Ends requests that take too long. Most have the same time, so one timer for the oldest is enough. */
export class Deadlines {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  /** Those with the usual time, oldest first. */
  readonly #pending = new Set<Pending>();
  #cancel: (() => void) | undefined;

  constructor(clock: Clock, timeoutMs: number) {
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
  }

  /** How long the request may take: what it asks for, but at most what the server allows. undefined: it has no end. */
  timeoutOf({ info, query }: Pick<Context, "info" | "query">): number | undefined {
    if (isLongRunning(info)) return undefined;
    const asked = query.get("timeout");
    const ms = asked ? askedMs(asked) : 0;
    return ms > 0 ? Math.min(ms, this.#timeoutMs) : this.#timeoutMs;
  }

  /** The work, or 504 if it takes too long. Work that has no end in sight is told to stop, and its result is dropped. */
  async within<T>(ms: number, work: Promise<T>, stop: () => void): Promise<T> {
    const { promise, reject } = Promise.withResolvers<never>();
    const expire = (): void => {
      reject(requestTimeout());
      stop();
    };
    const forget = ms === this.#timeoutMs ? this.#add(expire) : this.#clock.after(ms, expire);
    try {
      return await Promise.race([work, promise]);
    } finally {
      forget();
    }
  }

  #add(expire: () => void): () => void {
    const pending = { dueMs: this.#clock.now() + this.#timeoutMs, expire };
    this.#pending.add(pending);
    this.#cancel ??= this.#clock.after(this.#timeoutMs, () => this.#expire());
    return () => {
      this.#pending.delete(pending);
      if (this.#pending.size > 0) return;
      this.#cancel?.();
      this.#cancel = undefined;
    };
  }

  #expire(): void {
    this.#cancel = undefined;
    const now = this.#clock.now();
    for (const pending of this.#pending) {
      if (pending.dueMs > now) {
        this.#cancel = this.#clock.after(pending.dueMs - now, () => this.#expire());
        return;
      }
      this.#pending.delete(pending);
      pending.expire();
    }
  }
}

function askedMs(text: string): number {
  try {
    return Number(parseDuration(text)) / 1e6;
  } catch (error) {
    throw badRequest(`invalid timeout specified in the request URL - ${messageOf(error)}`);
  }
}
