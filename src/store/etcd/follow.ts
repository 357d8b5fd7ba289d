import { type Clock } from "#lib/async/clock.ts";
import { type Log } from "#lib/process/log.ts";
import { deleteEvent, type KeyValue, type WatchResponse } from "./calls.ts";
import { type EtcdClient } from "./etcd-client.ts";
import { type Keys } from "./keys.ts";
import { type MirrorChange } from "./mirror.ts";
import { ownBytes } from "./transaction.ts";

/** A change of a key of ours, with its revision. */
export type StreamedChange = MirrorChange & { readonly revision: number };

export interface FollowDeps {
  readonly client: EtcdClient;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly log: Log;
  /** Where the stream starts, or continues after a failure. */
  readonly position: () => number;
  /** Called before every stream: throws if this is not the cluster that was followed so far. */
  check(): Promise<void>;
  /** All changes up to this revision, in order. */
  changes(changes: readonly StreamedChange[], revision: number): void;
  /** Whether changes arrive. */
  isFollowing(isFollowing: boolean): void;
  /** History does not reach back to our position. */
  startOver(): Promise<void>;
}

const maxPauseMs = 2000;

/** Follows all changes in etcd until the signal, whatever happens to the connection. */
export async function follow(deps: FollowDeps, signal: AbortSignal): Promise<void> {
  const { clock, log } = deps;
  let failures = 0;
  while (!signal.aborted) {
    const before = deps.position();
    try {
      await deps.check();
      await followOnce(deps, signal, () => {
        if (failures > 0) log.info("etcd is followed again", { revision: deps.position() });
        failures = 0;
        deps.isFollowing(true);
      });
    } catch (error) {
      if (signal.aborted) return;
      if (failures === 0) log.warn("the connection to etcd was lost, trying again", { error });
    }
    deps.isFollowing(false);
    failures = deps.position() > before ? 1 : failures + 1;
    await clock.sleep(Math.min(20 * 2 ** failures, maxPauseMs), signal).catch(() => undefined);
  }
}

async function followOnce(deps: FollowDeps, signal: AbortSignal, onCreated: () => void): Promise<void> {
  const reader = new StreamReader(deps);
  for await (const response of deps.client.watch(deps.position() + 1, signal)) {
    if (response.canceled) {
      if (response.compactRevision > 0) {
        // Our own writes may have brought us further than the stream has: then nothing is missing.
        if (deps.position() + 1 < response.compactRevision) await deps.startOver();
        return;
      }
      throw new Error(`etcd ended the watch: ${response.cancelReason || "it gives no reason"}`);
    }
    if (response.created) onCreated();
    reader.take(response);
  }
}

/** Checks the order of what arrives, and joins revisions that are split over several messages. */
class StreamReader {
  readonly #deps: FollowDeps;
  /** Everything up to this revision was reported. */
  #reported: number;
  /** The revision of the last change. More of it may follow. */
  #last: number;
  #waiting: StreamedChange[] = [];

  constructor(deps: FollowDeps) {
    this.#deps = deps;
    this.#reported = deps.position();
    this.#last = this.#reported;
  }

  take({ header, events, fragment }: WatchResponse): void {
    for (const { type, kv } of events) {
      const revision = kv?.modRevision ?? 0;
      if (!kv || revision <= this.#reported || revision < this.#last || revision > (header?.revision ?? 0)) {
        throw new Error(`etcd sent a change of revision ${revision} after ${this.#last}`);
      }
      this.#last = revision;
      this.#keep(type === deleteEvent, kv);
    }
    const upTo = fragment ? this.#last - 1 : this.#last;
    if (upTo <= this.#reported) return;
    const complete = this.#waiting.filter(({ revision }) => revision <= upTo);
    this.#waiting = this.#waiting.slice(complete.length);
    this.#reported = upTo;
    this.#deps.changes(complete, upTo);
  }

  #keep(isDelete: boolean, { key: theirs, value, createRevision, modRevision }: KeyValue): void {
    const key = this.#deps.keys.fromEtcd(theirs);
    if (key === undefined) return;
    const change = { key, revision: modRevision };
    this.#waiting.push(
      isDelete ? { ...change, value: undefined } : { ...change, value: ownBytes(value), created: createRevision },
    );
  }
}
