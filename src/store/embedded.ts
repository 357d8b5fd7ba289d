import { type Clock } from "#lib/async/clock.ts";
import { realSetImmediate } from "#lib/async/real-timers.ts";
import { nextTurn } from "#lib/async/turns.ts";
import { Expiry } from "./expiry.ts";
import { type History, type Row } from "./history.ts";
import {
  type Change,
  type ChangesPage,
  type Committed,
  type Entry,
  type ListOptions,
  type ListResult,
  type PageOptions,
  type Refused,
  type Store,
  StoreClosedError,
  type StoreWatcher,
} from "./store.ts";
import { WatchHub } from "./watch-hub.ts";

/** Makes the rows of an embedded store outlive its process. */
export interface Journal {
  /** Writes all rows or none. It is not called again before the last call has settled. */
  write(rows: readonly Row[]): Promise<void>;
  close(): Promise<void>;
}

export interface EmbeddedStoreOptions {
  readonly history: History;
  readonly clock: Clock;
  /** Without one, everything is lost with the process. */
  readonly journal?: Journal;
  /** The highest row, and the keys that expire, if the history holds rows of an earlier run. */
  readonly lastRow?: number;
  readonly expiries?: ReadonlyMap<string, number>;
}

/**
 * A store with all its state in this process. A commit is checked and gets its revision immediately, against both
 * durable and pending changes. Commits that arrive while the journal writes a batch share the next one. Reads, answers
 * and watchers only see durable changes.
 */
export class EmbeddedStore implements Store {
  readonly #history: History;
  readonly #clock: Clock;
  readonly #journal: Journal | undefined;
  readonly #hub: WatchHub;
  readonly #expiry: Expiry;
  /** The first is being written if `#writing`; the last one takes new commits. */
  #batches: Batch[] = [];
  #writing = false;
  #flushing: NodeJS.Immediate | undefined;
  /** Keys of commits that are not durable yet, with their newest pending state. */
  readonly #pending = new Map<string, Pending>();
  #assigned: number;
  #row: number;
  #trimTimer: (() => void) | undefined;
  #closing: Promise<void> | undefined;
  #drained: (() => void) | undefined;

  constructor({ history, clock, journal, lastRow = 0, expiries = new Map() }: EmbeddedStoreOptions) {
    this.#history = history;
    this.#clock = clock;
    this.#journal = journal;
    this.#hub = new WatchHub(history);
    this.#assigned = history.revision;
    this.#row = lastRow;
    this.#expiry = new Expiry(clock, (key) => this.#expire(key));
    for (const [key, at] of expiries) this.#expiry.note(key, at);
    this.#armTrim();
  }

  get revision(): number {
    return this.#history.revision;
  }
  get compactedRevision(): number {
    return this.#history.compactedRevision;
  }
  /** Unknown before a write is tried. */
  get trouble(): undefined {
    return undefined;
  }

  catchUp(): undefined {
    return undefined;
  }

  async get(key: string, revision?: number): Promise<Entry | undefined> {
    return this.#history.get(key, revision);
  }

  async list(prefix: string, options?: ListOptions): Promise<ListResult> {
    return this.#history.list(prefix, options);
  }

  watch(prefix: string, from: number, watcher: StoreWatcher): () => void {
    if (this.#closing) throw new StoreClosedError();
    return this.#hub.watch(prefix, from, watcher);
  }

  async changes(prefix: string, page: PageOptions): Promise<ChangesPage> {
    return this.#history.changes(prefix, page);
  }

  commit(changes: readonly Change[]): Promise<Committed | Refused> {
    if (this.#closing) return Promise.reject(new StoreClosedError());
    if (changes.length > 1) {
      const twice = firstDuplicate(changes);
      if (twice !== undefined) return Promise.reject(new Error(`a commit changes ${twice} twice`));
    }
    const refusal = this.#firstRefusal(changes);
    if (refusal) return this.#answerAfter(refusal.pending?.batch, refusal.answer);

    const real = changes.filter(({ key, value }) => value !== undefined || this.#newest(key) !== undefined);
    if (real.length === 0) return this.#answerNothingToDo(changes);
    const revision = ++this.#assigned;
    const rows = this.#rowsOf(real, revision);
    const answer: Committed = { ok: true, revision };
    if (this.#journal) return this.#enqueue(rows, answer);
    this.#apply(rows);
    return Promise.resolve(answer);
  }

  async compact(revision: number): Promise<void> {
    while (this.#history.compact(revision, trimStep)) await nextTurn();
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#expiry.close();
    if (this.#batches.length > 0) await new Promise<void>((resolve) => (this.#drained = resolve));
    this.#trimTimer?.();
    this.#hub.close();
    await this.#journal?.close();
  }

  /** The state of the key once all pending commits are durable. */
  #newest(key: string): Entry | undefined {
    const pending = this.#pending.get(key);
    return pending ? pending.entry : this.#history.get(key);
  }

  #firstRefusal(changes: readonly Change[]): { answer: Refused; pending: Pending | undefined } | undefined {
    for (const { key, expected } of changes) {
      if (expected === undefined) continue;
      const current = this.#newest(key);
      if ((current?.revision ?? 0) === expected) continue;
      return { answer: { ok: false, key, current }, pending: this.#pending.get(key) };
    }
    return undefined;
  }

  /**
   * For deletes of keys that are already gone. If a pending commit deletes them, that must be durable before we answer.
   */
  async #answerNothingToDo(changes: readonly Change[]): Promise<Committed> {
    const batches = changes.map(({ key }) => this.#pending.get(key)?.batch).filter((batch) => batch !== undefined);
    const last = this.#batches.findLast((batch) => batches.includes(batch));
    const answer = { ok: true, revision: this.#history.revision } as const;
    if (!last) return answer;
    await this.#answerAfter(last, answer);
    return { ok: true, revision: this.#history.revision };
  }

  #answerAfter<T extends Committed | Refused>(batch: Batch | undefined, answer: T): Promise<T> {
    if (!batch) return Promise.resolve(answer);
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    batch.waiting.push({ settle: () => resolve(answer), reject });
    return promise;
  }

  #rowsOf(changes: readonly Change[], revision: number): Row[] {
    const at = this.#clock.now();
    return changes.map(({ key, value: given, ttlSeconds }) => {
      const value = typeof given === "function" ? given(revision) : given;
      const created = this.#newest(key)?.created ?? revision;
      const expires = ttlSeconds && value ? at + ttlSeconds * 1000 : 0;
      return { row: ++this.#row, revision, created, at, expires, key, value };
    });
  }

  #enqueue(rows: readonly Row[], answer: Committed): Promise<Committed> {
    const batch = this.#openBatch();
    for (const row of rows) {
      const { key, value, revision, created } = row;
      batch.rows.push(row);
      batch.bytes += key.length + (value?.length ?? 0);
      this.#pending.set(key, { entry: value && { key, value, revision, created }, revision, batch });
    }
    this.#scheduleFlush();
    return this.#answerAfter(batch, answer);
  }

  #openBatch(): Batch {
    const last = this.#batches.at(-1);
    const isBeingWritten = this.#writing && this.#batches.length === 1;
    if (last && !isBeingWritten && last.rows.length < batchRows && last.bytes < batchBytes) return last;
    const batch: Batch = { rows: [], bytes: 0, waiting: [] };
    this.#batches.push(batch);
    return batch;
  }

  /** Deferred, so that other commits of this turn of the event loop join the batch. */
  #scheduleFlush(): void {
    if (this.#writing) return;
    this.#flushing ??= realSetImmediate(() => {
      this.#flushing = undefined;
      void this.#flush();
    });
  }

  async #flush(): Promise<void> {
    const [batch] = this.#batches;
    if (!batch || !this.#journal) return;
    this.#writing = true;
    try {
      await this.#journal.write(batch.rows);
    } catch (error) {
      this.#writing = false;
      this.#takeBack(error);
      return;
    }
    this.#writing = false;
    this.#batches.shift();
    // The next batch goes to the disk as soon as the watchers have seen this one.
    this.#scheduleFlush();
    this.#apply(batch.rows);
    for (const { settle } of batch.waiting) settle();
    this.#settleIfDrained();
  }

  /** All pending commits were checked against a state that never came to be. Their revisions are not used again. */
  #takeBack(error: unknown): void {
    const batches = this.#batches;
    this.#batches = [];
    this.#pending.clear();
    for (const { waiting } of batches) for (const { reject } of waiting) reject(error);
    this.#settleIfDrained();
  }

  #settleIfDrained(): void {
    if (this.#batches.length === 0) this.#drained?.();
  }

  #apply(rows: readonly Row[]): void {
    const events = rows.map((row) => {
      if (this.#pending.get(row.key)?.revision === row.revision) this.#pending.delete(row.key);
      this.#expiry.note(row.key, row.expires);
      return this.#history.append(row);
    });
    this.#history.trim(this.#clock.now(), 2 * rows.length);
    this.#hub.publish(events, this.#history.revision);
    this.#armTrim();
  }

  /** Old history must also be dropped when nothing is written. */
  #armTrim(): void {
    const { oldestAt, maxAgeMs } = this.#history;
    if (this.#trimTimer || oldestAt === undefined || this.#closing) return;
    const dueMs = oldestAt + maxAgeMs - this.#clock.now();
    // Not later than this, because the age depends on the size, which may have grown by then.
    this.#trimAfter(Math.min(Math.max(dueMs, trimPauseMs), maxTrimPauseMs));
  }

  #trimAfter(delayMs: number): void {
    this.#trimTimer = this.#clock.after(delayMs, () => {
      this.#trimTimer = undefined;
      if (this.#history.trim(this.#clock.now(), trimStep)) this.#trimAfter(trimStepPauseMs);
      else this.#armTrim();
    });
  }

  async #expire(key: string): Promise<boolean> {
    const entry = this.#newest(key);
    if (!entry) return true;
    try {
      // A refusal means that it was just written again, with a new time to expire.
      await this.commit([{ key, value: undefined, expected: entry.revision }]);
      return true;
    } catch {
      // Writers get this error themselves; expired keys can wait.
      return false;
    }
  }
}

interface Batch {
  readonly rows: Row[];
  bytes: number;
  readonly waiting: { readonly settle: () => void; readonly reject: (error: unknown) => void }[];
}
interface Pending {
  readonly entry: Entry | undefined;
  readonly revision: number;
  readonly batch: Batch;
}

const batchRows = 4096;
const batchBytes = 8 << 20;

/** Changes to drop in one step: takes less than a millisecond. */
const trimStep = 1000;
const trimStepPauseMs = 10;
const trimPauseMs = 10_000;
const maxTrimPauseMs = 15_000;

function firstDuplicate(changes: readonly Change[]): string | undefined {
  const seen = new Set<string>();
  for (const { key } of changes) {
    if (seen.has(key)) return key;
    seen.add(key);
  }
  return undefined;
}
