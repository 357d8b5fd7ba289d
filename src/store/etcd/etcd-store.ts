import { type Clock } from "#lib/async/clock.ts";
import { type Log } from "#lib/process/log.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { type HistoryLimits } from "../history.ts";
import {
  type Change,
  type ChangesPage,
  type Committed,
  CompactedError,
  type Entry,
  FutureRevisionError,
  type ListOptions,
  type ListResult,
  type PageOptions,
  type Refused,
  type Store,
  StoreClosedError,
  StoreCutOffError,
  StoreUnavailableError,
  type StoreWatcher,
} from "../store.ts";
import { range, txn } from "./calls.ts";
import { compactTo, runCompactor } from "./compactor.ts";
import { EtcdClient, type EtcdClientOptions } from "./etcd-client.ts";
import { isCompacted, storeError } from "./faults.ts";
import { follow } from "./follow.ts";
import { InFlight } from "./in-flight.ts";
import { Keys } from "./keys.ts";
import { Leases } from "./leases.ts";
import { listPast, loadPages } from "./load.ts";
import { Mirror } from "./mirror.ts";
import { entryOf, type Outcome, outcomeOf, type Prepared, prepare, renderTransaction } from "./transaction.ts";

export interface EtcdStoreOptions extends EtcdClientOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** How our keys start, and what stands there in etcd. */
  readonly keys: { readonly ours: string; readonly theirs: string };
  readonly limits?: HistoryLimits;
}

/** etcd cannot be used; the message says why and what to do. */
export class EtcdError extends Error {
  override readonly name = "EtcdError";
}

/** Opens a store in etcd, which other servers may use as well. */
export async function openEtcdStore(options: EtcdStoreOptions): Promise<Store> {
  const client = new EtcdClient(options);
  const store = new EtcdStore(client, options);
  try {
    await store.start();
    return store;
  } catch (cause) {
    client[Symbol.dispose]();
    const where = options.endpoints.join(", ");
    throw new EtcdError(`cannot use etcd at ${where}: ${messageOf(cause)}: check --etcd-servers and its certificates`, {
      cause,
    });
  }
}

/** How long a confirmed write waits until the mirror shows it. */
const showMs = 10_000;
/** How long a read of the newest state waits for it. */
const catchUpMs = 5000;
/** From this many concurrent writes on, their answers are delivered in groups. */
const busyWrites = 8;
const trimEveryMs = 10_000;

/**
 * Writes go to etcd as transactions. Reads and watches are served from a mirror in this process, which follows all
 * changes, its own and those of other servers, in the order of their revisions.
 */
class EtcdStore implements Store {
  readonly #client: EtcdClient;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #keys: Keys;
  readonly #mirror: Mirror;
  readonly #leases: Leases;
  readonly #inFlight = new InFlight();
  readonly #ended = new AbortController();
  readonly #tasks: Promise<void>[] = [];
  #clusterId = 0n;
  /** Why this store must not write any more. */
  #broken: StoreUnavailableError | undefined;
  #reading: Promise<void> | undefined;
  #nextReading: Promise<void> | undefined;
  #isFollowing = true;
  #trimTimer = () => {};

  constructor(client: EtcdClient, { clock, log, keys, limits }: EtcdStoreOptions) {
    this.#client = client;
    this.#clock = clock;
    this.#log = log;
    this.#keys = new Keys(keys);
    this.#mirror = new Mirror({ clock, limits, isBusy: () => this.#inFlight.size >= busyWrites });
    this.#leases = new Leases(client, clock);
  }

  async start(): Promise<void> {
    const { state, revision } = await this.#load();
    this.#mirror.fill(state.values(), revision);
    const { signal } = this.#ended;
    const deps = { client: this.#client, clock: this.#clock, log: this.#log, keys: this.#keys };
    const following = follow(
      {
        ...deps,
        position: () => this.#mirror.position,
        check: () => this.#readRevision().then(() => undefined),
        changes: (changes, upTo) => {
          const recognized = changes.map((change) => this.#inFlight.recognize(change));
          this.#mirror.stream(recognized, upTo);
        },
        startOver: () => this.#startOver(),
        isFollowing: (isFollowing) => {
          this.#isFollowing = isFollowing;
        },
      },
      signal,
    );
    this.#tasks.push(following, runCompactor(deps, signal));
    this.#armTrim();
  }

  get revision(): number {
    return this.#mirror.revision;
  }
  get compactedRevision(): number {
    return this.#mirror.history.compactedRevision;
  }

  get trouble(): string | undefined {
    return this.#broken?.message ?? (this.#isFollowing ? undefined : "etcd does not answer");
  }

  async get(key: string, revision?: number): Promise<Entry | undefined> {
    return this.#mirror.history.get(key, revision);
  }

  async list(prefix: string, options: ListOptions = {}): Promise<ListResult> {
    const { revision = this.revision } = options;
    // Another server may have started this list, or this one before it was restarted.
    if (revision < this.compactedRevision) return await this.#listPast(prefix, { ...options, revision });
    return this.#mirror.history.list(prefix, options);
  }

  watch(prefix: string, from: number, watcher: StoreWatcher): () => void {
    if (this.#ended.signal.aborted) throw new StoreClosedError();
    return this.#mirror.hub.watch(prefix, from, watcher);
  }

  async changes(prefix: string, page: PageOptions): Promise<ChangesPage> {
    return this.#mirror.history.changes(prefix, page);
  }

  async commit(changes: readonly Change[]): Promise<Committed | Refused> {
    this.#checkUsable();
    const twice = firstDuplicate(changes);
    if (twice !== undefined) throw new Error(`a commit changes ${twice} twice`);
    if (changes.length === 0) return { ok: true, revision: this.revision };
    const outcome = await this.#send(changes);
    // Whoever gets the answer finds the change, or what it conflicts with, in every cache of this process.
    const isShown = await this.#mirror.reaches(outcome.revision, showMs);
    if (!isShown) this.#log.warn("a write is not seen in time", { revision: outcome.revision });
    const { revision } = outcome;
    if (outcome.type === "committed") return { ok: true, revision };
    const { key, current } = outcome;
    const shown = this.#mirror.history.get(key);
    return { ok: false, key, current: shown?.revision === current?.revision ? shown : current };
  }

  async compact(revision: number): Promise<void> {
    this.#checkUsable();
    const { history } = this.#mirror;
    if (revision > history.revision) throw new FutureRevisionError(history.revision);
    await compactTo(this.#client, revision).catch((error: unknown) => {
      throw storeError(error);
    });
    while (history.compact(revision, trimStep));
  }

  /** Reads that come while one is under way share the next, because this one may have been answered already. */
  catchUp(): Promise<void> {
    if (!this.#reading) {
      this.#reading = this.#catchUpOnce().finally(() => {
        this.#reading = undefined;
      });
      return this.#reading;
    }
    this.#nextReading ??= this.#reading
      .catch(() => {})
      .then(() => {
        this.#nextReading = undefined;
        return this.catchUp();
      });
    return this.#nextReading;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended.abort(new StoreClosedError());
    this.#trimTimer();
    this.#mirror.close();
    this.#client[Symbol.dispose]();
    await Promise.all(this.#tasks);
  }

  #checkUsable(): void {
    if (this.#ended.signal.aborted) throw new StoreClosedError();
    if (this.#broken) throw this.#broken;
  }

  async #send(changes: readonly Change[]): Promise<Outcome> {
    const prepared = await this.#prepare(changes);
    const end = this.#inFlight.add(prepared);
    try {
      const answer = await this.#client.write(txn, renderTransaction(prepared, this.#keys));
      this.#checkCluster(answer.header);
      const outcome = outcomeOf(prepared, answer);
      if (outcome.type === "committed" && outcome.changed.length > 0) {
        this.#mirror.answer(outcome.revision, outcome.changed);
      }
      return outcome;
    } catch (error) {
      if (this.#ended.signal.aborted) throw new StoreClosedError();
      if (prepared.some(({ lease }) => lease !== undefined)) this.#leases.forget();
      throw storeError(error);
    } finally {
      end();
    }
  }

  async #prepare(changes: readonly Change[]): Promise<Prepared[]> {
    const prepared: Prepared[] = [];
    for (const change of changes) {
      const lease = change.ttlSeconds && change.value ? await this.#lease(change.ttlSeconds) : undefined;
      prepared.push(prepare(change, lease));
    }
    return prepared;
  }

  async #lease(ttlSeconds: number): Promise<bigint> {
    try {
      return await this.#leases.lasting(ttlSeconds);
    } catch (error) {
      // Nothing was changed, whatever became of the lease.
      throw new StoreUnavailableError(`etcd grants no lease: ${messageOf(error)}`, { cause: error });
    }
  }

  async #catchUpOnce(): Promise<void> {
    this.#checkUsable();
    const revision = await this.#readRevision().catch((error: unknown) => {
      this.#checkUsable();
      throw new StoreCutOffError(`etcd has no majority or does not answer: ${messageOf(error)}`, { cause: error });
    });
    if (await this.#mirror.reaches(revision, catchUpMs)) return;
    this.#checkUsable();
    throw new StoreCutOffError(`etcd is at revision ${revision}, but its changes do not arrive`);
  }

  /** The newest revision, as a majority of the members knows it. */
  async #readRevision(): Promise<number> {
    const before = this.#mirror.streamed;
    const { header } = await this.#client.read(range, { key: this.#keys.root, limit: 1, keysOnly: true });
    this.#checkCluster(header);
    const revision = header?.revision ?? 0;
    if (revision < before) {
      throw this.#break(`etcd went back from revision ${before} to ${revision}: its data was replaced`);
    }
    return revision;
  }

  #checkCluster(header: { readonly clusterId: bigint } | undefined): void {
    if (this.#clusterId === 0n || header?.clusterId === this.#clusterId) return;
    throw this.#break(`etcd's cluster id changed from ${this.#clusterId} to ${header?.clusterId}`);
  }

  /** What is known here does not belong to what is there, so writing could destroy it. */
  #break(why: string): StoreUnavailableError {
    if (!this.#broken) this.#log.error("etcd is not what it was: writes are refused", { why });
    this.#broken ??= new StoreUnavailableError(`${why}: restart Orlop`);
    return this.#broken;
  }

  /** From etcd itself, whose history reaches further back than the mirror's. */
  async #listPast(prefix: string, options: ListOptions & { revision: number }): Promise<ListResult> {
    try {
      return await listPast(this.#client, this.#keys, { prefix, ...options });
    } catch (error) {
      if (isCompacted(error)) throw new CompactedError(this.compactedRevision);
      throw storeError(error);
    }
  }

  async #load() {
    const state = new Map<string, Entry>();
    let revision = 0;
    for await (const page of loadPages(this.#client, this.#keys.root)) {
      if (this.#clusterId === 0n) this.#clusterId = page.clusterId;
      this.#checkCluster(page);
      revision = page.revision;
      for (const kv of page.kvs) {
        const key = this.#keys.fromEtcd(kv.key);
        if (key === undefined) throw new Error(`etcd answered with the key ${kv.key}, which was not asked for`);
        state.set(key, entryOf(key, kv));
      }
    }
    return { state, revision };
  }

  async #startOver(): Promise<void> {
    const { state, revision } = await this.#load();
    if (revision < this.revision) throw new Error("etcd answered with an old state");
    this.#log.warn("etcd has dropped the history since the connection was lost: all state was read again", {
      revision,
    });
    this.#mirror.replace(state, revision, new CompactedError(revision));
  }

  /** Old history must also be dropped when nothing is written. */
  #armTrim(): void {
    this.#trimTimer = this.#clock.after(trimEveryMs, () => {
      const more = this.#mirror.history.trim(this.#clock.now(), trimStep);
      if (more) setImmediate(() => this.#mirror.history.trim(this.#clock.now(), trimStep));
      this.#armTrim();
    });
  }
}

const trimStep = 1000;

function firstDuplicate(changes: readonly Change[]): string | undefined {
  const keys = changes.map(({ key }) => key);
  return keys.length > 1 ? keys.find((key, n) => keys.indexOf(key) < n) : undefined;
}
