import { type Encoded, type WatchEventType, type WatchLoad, type WatchSink } from "#api/exchange.ts";
import { type ApiObject } from "#api/resource.ts";
import { internalError, StatusError } from "#api/status.ts";
import { Channel } from "#lib/async/channel.ts";
import { type Trace, traceparent } from "#trace/trace.ts";
import { type WatchEvent } from "../client.ts";

export interface WatchInboxDeps {
  /** The trace that made a revision. */
  traceOf?(revision: number): Trace | undefined;
  /** How much a server may send without checking for room; default 10,000 events. */
  readonly watchBuffer?: number;
}

/** Above one of these the inbox is full, and below a quarter of both it is idle again. */
const fullEvents = 1000;
const fullBytes = 4 << 20;

interface Held {
  readonly event: WatchEvent<ApiObject>;
  readonly bytes: number;
}

/** Events of a watch in this process, between the server and the consumer. */
export class WatchInbox implements WatchSink {
  readonly #deps: WatchInboxDeps;
  readonly #channel: Channel<Held>;
  #bytes = 0;
  #isStarted = false;
  #wake: (() => void) | undefined;

  constructor(deps: WatchInboxDeps) {
    this.#deps = deps;
    this.#channel = new Channel(deps.watchBuffer ?? 10_000);
  }

  get load(): WatchLoad {
    const share = Math.max(this.#channel.size / fullEvents, this.#bytes / fullBytes);
    if (share >= 1) return "full";
    return share <= 0.25 ? "idle" : "busy";
  }

  onIdle(wake: () => void): void {
    this.#wake = wake;
    this.#wakeIfIdle();
  }

  /** Until now a server that does not check for room could send the whole state. */
  started(): void {
    this.#isStarted = true;
  }

  event(type: WatchEventType, encoded: Encoded): void {
    const trace = this.#deps.traceOf?.(encoded.revision);
    const { object } = encoded;
    const event = trace ? { type, object, trace: traceparent(trace) } : { type, object };
    this.#push({ event, bytes: encoded.storedBytes });
  }

  bookmark(revision: number, initialEventsEnd: boolean): void {
    this.#push({ event: { type: "BOOKMARK", resourceVersion: String(revision), initialEventsEnd }, bytes: 0 });
  }

  end(error?: Error): void {
    this.#channel.close(error && !(error instanceof StatusError) ? internalError(error) : error);
  }

  /** Ends the watch immediately, and drops the events that were not taken. */
  discard(): void {
    this.#channel.discard();
  }

  async *events(): AsyncGenerator<WatchEvent<ApiObject>> {
    for await (const { event, bytes } of this.#channel) {
      this.#bytes -= bytes;
      this.#wakeIfIdle();
      yield event;
    }
  }

  #push(held: Held): void {
    const isTaken = this.#isStarted ? this.#channel.push(held) : this.#channel.pushUnbounded(held);
    if (isTaken) this.#bytes += held.bytes;
    else this.#channel.close();
  }

  #wakeIfIdle(): void {
    const wake = this.#wake;
    if (!wake || this.load !== "idle") return;
    this.#wake = undefined;
    wake();
  }
}
