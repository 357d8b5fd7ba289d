import { type Clock } from "#lib/async/clock.ts";
import { type Log } from "#lib/process/log.ts";
import type { AuditBackend, AuditCounts, AuditMode, AuditWriter } from "./backend.ts";
import type { AuditEvent } from "./event.ts";

export interface BatchOptions {
  readonly mode: AuditMode;
  /** How many events may wait; more are dropped in mode `batch`. */
  readonly bufferSize: number;
  /** How many events are written at once. */
  readonly maxBatchSize: number;
  /** How long an event waits for others to be written with it. */
  readonly maxBatchWaitMs: number;
}

export interface BatchDeps extends AuditCounts {
  readonly name: string;
  readonly writer: AuditWriter;
  readonly clock: Clock;
  readonly log: Log;
}

/** However few events there are, they must not take more memory than this. */
const maxBufferedChars = 64 << 20;
/** A request waits for its event only this long: a disk or a server may never answer. */
const patienceMs = 10_000;
/** How long a server waits at its end for what is still to be written. */
const lastWriteMs = 5000;

interface Waiting {
  readonly event: AuditEvent;
  readonly settle: ((isWritten: boolean) => void) | undefined;
}

/**
 * Passes events to a writer in batches, one batch after the other and in order. What arrives during a write goes into the
 * next. In the blocking modes a request waits for its own event; then a batch is what waits at that moment.
 */
export class BatchedBackend implements AuditBackend {
  readonly name: string;
  readonly #options: BatchOptions;
  readonly #deps: BatchDeps;
  #waiting: Waiting[] = [];
  #chars = 0;
  #writing: Promise<void> | undefined;
  #cancelTimer: (() => void) | undefined;
  #isClosing = false;
  #isFailing = false;
  /** The current write takes so long that nobody waits for it. */
  #isStuck = false;

  constructor(options: BatchOptions, deps: BatchDeps) {
    this.name = deps.name;
    this.#options = options;
    this.#deps = deps;
  }

  process(event: AuditEvent): boolean | Promise<boolean> {
    const { mode, bufferSize } = this.#options;
    if (this.#waiting.length >= bufferSize || this.#chars + event.rest.length > maxBufferedChars) {
      this.#deps.lost("buffered", 1);
      return mode !== "blocking-strict";
    }
    if (mode === "batch" || this.#isStuck) {
      this.#add({ event, settle: undefined });
      return mode !== "blocking-strict";
    }
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#add({ event, settle: (isWritten) => resolve(isWritten || mode === "blocking") });
    return promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosing = true;
    this.#start();
    const patience = Promise.withResolvers<void>();
    const cancel = this.#deps.clock.after(lastWriteMs, patience.resolve);
    await Promise.race([this.#writing, patience.promise]);
    cancel();
    if (this.#waiting.length > 0) this.#deps.lost(this.name, this.#waiting.length);
    this.#waiting = [];
    await this.#deps.writer[Symbol.asyncDispose]();
  }

  #add(waiting: Waiting): void {
    this.#waiting.push(waiting);
    this.#chars += waiting.event.rest.length;
    const { maxBatchSize, maxBatchWaitMs } = this.#options;
    if (waiting.settle || this.#waiting.length >= maxBatchSize || maxBatchWaitMs === 0) return this.#start();
    this.#cancelTimer ??= this.#deps.clock.after(maxBatchWaitMs, () => this.#start());
  }

  #start(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#writing ??= this.#writeAll();
  }

  async #writeAll(): Promise<void> {
    await undefined; // The events of this turn are written together.
    while (this.#waiting.length > 0) await this.#writeBatch();
    this.#writing = undefined;
  }

  async #writeBatch(): Promise<void> {
    const { name, log, lost, writer, clock } = this.#deps;
    const batch = this.#waiting.splice(0, this.#options.maxBatchSize);
    for (const { event } of batch) this.#chars -= event.rest.length;
    let isWritten = true;
    const cancel = clock.after(patienceMs, () => this.#giveUpWaiting(batch));
    try {
      await writer.write(batch.map(({ event }) => event));
      if (this.#isFailing) log.info("audit events are written again", { backend: name });
      this.#isFailing = false;
    } catch (error) {
      isWritten = false;
      lost(name, batch.length);
      // Once, not for every batch.
      if (!this.#isFailing && !this.#isClosing) log.error("audit events are lost", { backend: name, error });
      this.#isFailing = true;
    }
    cancel();
    this.#isStuck = false;
    for (const { settle } of batch) settle?.(isWritten);
  }

  /** The events may still be written, but no request waits for that any longer. */
  #giveUpWaiting(batch: readonly Waiting[]): void {
    this.#isStuck = true;
    this.#deps.log.warn("audit events are written too slowly: requests do not wait", { backend: this.name });
    for (const { settle } of [...batch, ...this.#waiting]) settle?.(false);
  }
}
