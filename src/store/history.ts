import { totalmem } from "node:os";
import { compareKeys, SortedMap } from "#lib/data/sorted-map.ts";
import {
  type ChangesPage,
  CompactedError,
  type Entry,
  FutureRevisionError,
  type ListOptions,
  type ListResult,
  type PageOptions,
  type StoreEvent,
} from "./store.ts";

/** One change of one key, as it was made and as it is stored. */
export interface Row {
  /** Its number among all rows ever written; never reused. */
  readonly row: number;
  readonly revision: number;
  /** The revision at which the key was created. */
  readonly created: number;
  /** When it was written, in milliseconds since the epoch. */
  readonly at: number;
  /** When the key may be dropped; 0 means never. */
  readonly expires: number;
  readonly key: string;
  /** undefined means that the key was deleted. */
  readonly value: Uint8Array | undefined;
}

export interface HistoryLimits {
  readonly maxEvents: number;
  readonly maxBytes: number;
  readonly maxAgeMs: number;
  /** With more bytes than this, changes are kept for a time that is shorter in proportion, but not below `minAgeMs`. */
  readonly fullAgeBytes?: number;
  readonly minAgeMs?: number;
}
/**
 * On a machine with 12 GiB or more, enough for a watcher that reads nothing for half a minute while 6,000 objects of 500
 * bytes change every second. A minute after such a rush, at most 10 MiB of it are left.
 */
export function historyLimitsOf(memoryBytes: number): HistoryLimits {
  return {
    maxEvents: 250_000,
    maxBytes: Math.min(Math.max(96 << 20, memoryBytes / 50), 256 << 20),
    maxAgeMs: 5 * 60_000,
    fullAgeBytes: 2 << 20,
    minAgeMs: 40_000,
  };
}

/** The memory of the machine, or what a container may take of it. `allowed` is 0 or immense if there is no such limit. */
export const usableMemory = (machine = totalmem(), allowed = process.constrainedMemory()): number =>
  allowed > 0 ? Math.min(machine, allowed) : machine;

/** The revision of an empty store. Not 0, because that means "absent" or "any" elsewhere. */
const firstRevision = 1;

/**
 * Every key with all its versions back to the compaction point, and the changes since then in order.
 *
 *     keys:  "/a" ── newest v9 ─ older v7 ─ older v3        v3 stands at the compaction point and has no event
 *            "/b" ── newest v8 (deleted) ─ older v5
 *     log:   v5 v7 v8 v9                                    oldest first; to forget one drops what it replaced
 */
export class History {
  readonly #keys = new Map<string, Versions>();
  readonly #sorted = new SortedMap<Versions>();
  /** Keys whose newest version is a deletion; they are in `#sorted` only for reads at older revisions. */
  readonly #deleted = new SortedMap<true>();
  /** Entries before `#head` have been dropped. */
  #log: (Logged | undefined)[] = [];
  #head = 0;
  #bytes = 0;
  #revision = firstRevision;
  #compactedRevision = 0;
  /** During a restore `#sorted` is not updated, because filling it in bulk is cheaper. */
  #isRestoring = false;
  readonly #limits: HistoryLimits;
  readonly #dropped: (row: number) => void;

  /** `dropped` is called with every row that can no longer be read. */
  constructor(limits: HistoryLimits = historyLimitsOf(usableMemory()), dropped: (row: number) => void = () => {}) {
    this.#limits = limits;
    this.#dropped = dropped;
  }

  get revision(): number {
    return this.#revision;
  }
  get compactedRevision(): number {
    return this.#compactedRevision;
  }
  /** When the oldest remembered change was made. */
  get oldestAt(): number | undefined {
    return this.#log[this.#head]?.at;
  }
  /** How long a change is kept, at the current size. */
  get maxAgeMs(): number {
    const { maxAgeMs, fullAgeBytes = Number.POSITIVE_INFINITY, minAgeMs = 0 } = this.#limits;
    const share = Math.min(1, fullAgeBytes / this.#bytes);
    return Math.max(share * maxAgeMs, minAgeMs);
  }

  get(key: string, revision?: number): Entry | undefined {
    const newest = this.#keys.get(key)?.newest;
    if (revision === undefined) return newest?.entry;
    this.#checkReadable(revision);
    return versionAt(newest, revision)?.entry;
  }

  list(prefix: string, { after, limit, revision }: ListOptions = {}): ListResult {
    const at = revision ?? this.#revision;
    this.#checkReadable(at);
    const entries: Entry[] = [];
    const wanted = limit || Number.POSITIVE_INFINITY;
    this.#sorted.scan(prefix, after, ({ newest }) => {
      const entry = versionAt(newest, at)?.entry;
      if (entry) entries.push(entry);
      return entries.length < wanted;
    });
    const last = entries.at(-1);
    const remaining = last && entries.length >= wanted ? this.#countAt(prefix, last.key, at) : 0;
    return { entries, revision: at, remaining };
  }

  /**
   * How many keys there were. Starts from the current count and corrects it by the changes since, which is usually
   * cheap.
   */
  #countAt(prefix: string, after: string, revision: number): number {
    let count = this.#sorted.count(prefix, after) - this.#deleted.count(prefix, after);
    const from = this.#firstAfter(revision);
    if (this.#log.length - from > this.#sorted.count(prefix, after)) return this.#walkAt(prefix, after, revision);
    const seen = new Set<string>();
    for (let at = from; at < this.#log.length; at++) {
      const { key } = (this.#log[at] as Logged).event;
      if (!key.startsWith(prefix) || seen.has(key) || compareKeys(key, after) <= 0) continue;
      seen.add(key);
      const newest = this.#keys.get(key)?.newest;
      count += Number(versionAt(newest, revision)?.entry !== undefined) - Number(newest?.entry !== undefined);
    }
    return count;
  }

  #walkAt(prefix: string, after: string, revision: number): number {
    let count = 0;
    this.#sorted.scan(prefix, after, ({ newest }) => {
      if (versionAt(newest, revision)?.entry) count++;
      return true;
    });
    return count;
  }

  /** Appends the next row, in order, and returns what it changed. */
  append(row: Row): StoreEvent {
    const { key, value, revision, created } = row;
    const entry = value && { key, value, revision, created };
    const versions = this.#keys.get(key);
    const older = versions?.newest;
    const version: Version = { entry, revision, row: row.row, older };
    this.#put(key, versions, version);
    this.#revision = revision;

    const event: StoreEvent = { key, value, revision, previous: older?.entry, created };
    const bytes = eventBytes + key.length + (older?.entry?.value.length ?? 0);
    this.#log.push({ event, version, at: row.at, bytes });
    this.#bytes += bytes;
    return event;
  }

  /** Nothing was changed up to this revision. */
  advance(revision: number): void {
    this.#revision = Math.max(this.#revision, revision);
  }

  /** Takes the next row of an earlier run, which had dropped everything before `compactedRevision`. */
  restore(row: Row, compactedRevision: number): void {
    this.#isRestoring = true;
    if (row.revision > compactedRevision) {
      this.append(row);
      return;
    }
    const { key, value, revision, created } = row;
    const versions = this.#keys.get(key);
    if (versions) this.#dropped(versions.newest.row);
    const entry = value && { key, value, revision, created };
    this.#put(key, versions, { entry, revision, row: row.row, older: undefined });
    if (!entry) this.#remove(key, row.row);
  }

  /** Must be called after the last `restore`. */
  restored(compactedRevision: number): void {
    this.#isRestoring = false;
    this.#sorted.fill([...this.#keys]);
    this.#compactedRevision = Math.max(this.#compactedRevision, compactedRevision);
    this.#revision = Math.max(this.#revision, compactedRevision);
  }

  /** About `limit` changes after `revision`; those of one revision are never split. */
  changesAfter(revision: number, limit: number): readonly StoreEvent[] {
    if (revision < this.#compactedRevision) throw new CompactedError(this.#compactedRevision);
    const events: StoreEvent[] = [];
    for (let at = this.#firstAfter(revision); at < this.#log.length; at++) {
      const { event } = this.#log[at] as Logged;
      if (events.length >= limit && event.revision !== events.at(-1)?.revision) break;
      events.push(event);
    }
    return events;
  }

  /** One page of the changes under a prefix. It ends early rather than scan many changes of other keys. */
  changes(prefix: string, { after, limit, maxBytes }: PageOptions): ChangesPage {
    if (after < this.#compactedRevision) throw new CompactedError(this.#compactedRevision);
    const first = this.#firstAfter(after);
    const events: StoreEvent[] = [];
    let bytes = 0;
    let last = after;
    for (let at = first; at < this.#log.length; at++) {
      const { event } = this.#log[at] as Logged;
      const isEnough = events.length >= limit || bytes >= maxBytes || at - first >= limit * looksPerChange;
      if (isEnough && event.revision !== last) return { events, revision: last };
      last = event.revision;
      if (!event.key.startsWith(prefix)) continue;
      events.push(event);
      bytes += (event.value?.length ?? 0) + (event.previous?.value.length ?? 0);
    }
    return { events, revision: Math.max(this.#revision, after) };
  }

  /** Drops at most `steps` changes that exceed the limits; returns whether there are more. */
  trim(now: number, steps: number): boolean {
    const { maxEvents, maxBytes } = this.#limits;
    return this.#forgetWhile(
      ({ at }) => this.#log.length - this.#head > maxEvents || this.#bytes > maxBytes || at <= now - this.maxAgeMs,
      steps,
    );
  }

  /** Drops at most `steps` changes before `revision`; returns whether there are more. */
  compact(revision: number, steps: number): boolean {
    if (revision > this.#revision) throw new FutureRevisionError(this.#revision);
    if (this.#forgetWhile(({ event }) => event.revision <= revision, steps)) return true;
    this.#compactedRevision = Math.max(this.#compactedRevision, revision);
    return false;
  }

  #forgetWhile(isDue: (logged: Logged) => boolean, steps: number): boolean {
    let oldest = this.#log[this.#head];
    for (let left = steps; left > 0 && oldest && isDue(oldest); left--) {
      this.#forget(oldest);
      // Released immediately: a thousand dropped changes can be gigabytes.
      this.#log[this.#head++] = undefined;
      oldest = this.#log[this.#head];
    }
    // The array is shortened only now and then, because that moves all remaining items.
    if (this.#head > 1024 && this.#head * 4 > this.#log.length) {
      this.#log = this.#log.slice(this.#head);
      this.#head = 0;
    }
    return oldest !== undefined && isDue(oldest);
  }

  #forget({ event, version, bytes }: Logged): void {
    this.#bytes -= bytes;
    this.#compactedRevision = event.revision;
    if (version.older) this.#dropped(version.older.row);
    version.older = undefined;
    if (!version.entry && this.#keys.get(event.key)?.newest === version) this.#remove(event.key, version.row);
  }

  #put(key: string, versions: Versions | undefined, version: Version): void {
    if (!versions) {
      const added = { newest: version };
      this.#keys.set(key, added);
      if (!this.#isRestoring) this.#sorted.set(key, added);
    } else {
      if (versions.newest.entry === undefined) this.#deleted.delete(key);
      versions.newest = version;
    }
    if (version.entry === undefined) this.#deleted.set(key, true);
  }

  #remove(key: string, row: number): void {
    this.#keys.delete(key);
    if (!this.#isRestoring) this.#sorted.delete(key);
    this.#deleted.delete(key);
    this.#dropped(row);
  }

  #checkReadable(revision: number): void {
    if (revision > this.#revision) throw new FutureRevisionError(this.#revision);
    if (revision < this.#compactedRevision) throw new CompactedError(this.#compactedRevision);
  }

  /** The index in the log of the first change after `revision`. */
  #firstAfter(revision: number): number {
    let low = this.#head;
    let high = this.#log.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#log[middle] as Logged).event.revision > revision) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

interface Versions {
  newest: Version;
}
interface Version {
  /** undefined means deleted. */
  readonly entry: Entry | undefined;
  readonly revision: number;
  readonly row: number;
  older: Version | undefined;
}
interface Logged {
  readonly event: StoreEvent;
  readonly version: Version;
  readonly at: number;
  readonly bytes: number;
}

/** How many changes a page scans for each one that it may contain. */
const looksPerChange = 8;

/** The memory that a remembered change takes besides its key and previous value: objects, and the buffer's overhead. */
const eventBytes = 640;

function versionAt(newest: Version | undefined, revision: number): Version | undefined {
  let version = newest;
  while (version && version.revision > revision) version = version.older;
  return version;
}
