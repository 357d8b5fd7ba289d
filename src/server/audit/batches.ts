import { type Clock } from "#lib/async/clock.ts";
import { type Log } from "#lib/process/log.ts";
import type { AuditBackend, AuditCounts, AuditMode, AuditWriter } from "./backend.ts";
import type { AuditEvent } from "./event.ts";
import { TokenBucket } from "./token-bucket.ts";

export interface BatchOptions {
  readonly mode: AuditMode;
  /** How many events may wait; more are dropped in mode `batch`. */
  readonly bufferSize: number;
  /** How many events are written at once. */
  readonly maxBatchSize: number;
  /** How long an event waits for others to be written with it. */
  readonly maxBatchWaitMs: number;
  /** Without it events may have any size. */
  readonly truncate?: TruncateOptions | undefined;
  /** How often batches are written, in mode `batch`. */
  readonly throttle?: ThrottleOptions | undefined;
}

export interface TruncateOptions {
  /** A longer event loses its bodies; one that is still longer is lost. */
  readonly maxEventBytes: number;
  readonly maxBatchBytes: number;
}

export interface ThrottleOptions {
  readonly perSecond: number;
  /** How many batches may be written at once after a pause. */
  readonly burst: number;
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
  readonly bytes: number;
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
  readonly #bucket: TokenBucket | undefined;
  readonly #end = new AbortController();
  #waiting: Waiting[] = [];
  #chars = 0;
  #writing: Promise<void> | undefined;
  #cancelTimer: (() => void) | undefined;
  #isClosing = false;
  #isFailing = false;
  /** What the current write contains. */
  #batch: readonly Waiting[] = [];
  /** The current write takes so long that nobody waits for it. */
  #isStuck = false;

  constructor(options: BatchOptions, deps: BatchDeps) {
    this.name = deps.name;
    this.#options = options;
    this.#deps = deps;
    this.#bucket =
      options.mode === "batch" && options.throttle ? new TokenBucket(options.throttle, deps.clock) : undefined;
  }

  process(whole: AuditEvent): boolean | Promise<boolean> {
    const { mode, bufferSize, truncate } = this.#options;
    const fitting = truncate ? truncated(whole, truncate) : { event: whole, bytes: 0 };
    if (!fitting) return this.#lose("truncate");
    if (this.#waiting.length >= bufferSize || this.#chars + fitting.event.rest.length > maxBufferedChars) {
      return this.#lose("buffered");
    }
    if (this.#isStuck && this.#isForbidding(whole)) return this.#lose(this.name);
    if (mode === "batch" || this.#isStuck) {
      this.#add({ ...fitting, settle: undefined });
      return mode !== "blocking-strict";
    }
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const cancel = this.#deps.clock.after(patienceMs, () => this.#giveUpWaiting());
    const settle = (isWritten: boolean): void => {
      cancel();
      resolve(isWritten || mode === "blocking");
    };
    this.#add({ ...fitting, settle });
    return promise;
  }

  /** Its request is refused unless it is written in time, so it must not be written later. */
  #isForbidding({ stage }: AuditEvent): boolean {
    return this.#options.mode === "blocking-strict" && stage === "RequestReceived";
  }

  #lose(plugin: string): boolean {
    this.#deps.lost(plugin, 1);
    return this.#options.mode !== "blocking-strict";
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosing = true;
    this.#end.abort(new Error("the server ends"));
    this.#start();
    const patience = Promise.withResolvers<void>();
    const cancel = this.#deps.clock.after(lastWriteMs, patience.resolve);
    await Promise.race([this.#writing, patience.promise]);
    cancel();
    if (this.#waiting.length > 0) this.#deps.lost(this.name, this.#waiting.length);
    for (const { settle } of [...this.#batch, ...this.#waiting]) settle?.(false);
    this.#waiting = [];
    this.#chars = 0;
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
    while (this.#waiting.length > 0) {
      // The end of the server does not wait for its turn.
      await this.#bucket?.take(this.#end.signal).catch(() => {});
      await this.#writeBatch();
    }
    this.#writing = undefined;
  }

  async #writeBatch(): Promise<void> {
    const { name, log, lost, writer } = this.#deps;
    const batch = this.#waiting.splice(0, planBatch(this.#waiting, this.#options));
    for (const { event } of batch) this.#chars -= event.rest.length;
    this.#batch = batch;
    let isWritten = true;
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
    this.#batch = [];
    this.#isStuck = false;
    for (const { settle } of batch) settle?.(isWritten);
  }

  /** The events may still be written, but no request waits for that any longer. */
  #giveUpWaiting(): void {
    this.#isStuck = true;
    this.#deps.log.warn("audit events are written too slowly: requests do not wait", { backend: this.name });
    const { forbidding = [], later = [] } = Object.groupBy(this.#waiting, ({ event }) =>
      this.#isForbidding(event) ? "forbidding" : "later",
    );
    this.#waiting = later;
    for (const { event } of forbidding) this.#chars -= event.rest.length;
    if (forbidding.length > 0) this.#deps.lost(this.name, forbidding.length);
    for (const { settle } of [...this.#batch, ...later, ...forbidding]) settle?.(false);
  }
}

/** The event as it may be written, or undefined if it is too long even without its bodies. */
function truncated(
  event: AuditEvent,
  { maxEventBytes }: TruncateOptions,
): { readonly event: AuditEvent; readonly bytes: number } | undefined {
  for (const candidate of [() => event, () => event.withoutBodies()]) {
    const fitting = candidate();
    const bytes = Buffer.byteLength(fitting.rest);
    if (bytes <= maxEventBytes) return { event: fitting, bytes };
  }
  return undefined;
}

/** How many of those that wait are written together: at least one. */
function planBatch(waiting: readonly Waiting[], { maxBatchSize, truncate }: BatchOptions): number {
  const most = Math.min(waiting.length, maxBatchSize);
  if (!truncate) return most;
  let bytes = 0;
  for (let n = 0; n < most; n++) {
    bytes += waiting[n]?.bytes ?? 0;
    if (bytes > truncate.maxBatchBytes) return Math.max(n, 1);
  }
  return most;
}
