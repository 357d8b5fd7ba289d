import { Node } from "#api/core/node.ts";
import { claimKeyOf } from "#api/core/persistent-volume/binding.ts";
import { PersistentVolume } from "#api/core/persistent-volume/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { type Clock } from "#lib/async/clock.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { type Informers } from "#runtime/informer.ts";

export interface ClaimWait {
  readonly keys: readonly string[];
  /**
   * Whether the wait is over; it fails with the error that this throws. Asked after each change of one of the claims or
   * of its volume, and when a node is deleted.
   */
  isOver(): boolean;
  readonly timeoutMs: number;
}

/** Waits until claims are bound, with the same subscriptions for all of them and none if nobody waits. */
export class ClaimWaits {
  readonly #informers: Informers;
  readonly #clock: Clock;
  readonly #watchers = new Map<string, Set<() => void>>();
  #unsubscribe: (() => void) | undefined;

  constructor({ informers, clock }: { readonly informers: Informers; readonly clock: Clock }) {
    this.#informers = informers;
    this.#clock = clock;
  }

  async wait({ keys, isOver, timeoutMs }: ClaimWait, signal: AbortSignal): Promise<void> {
    const done = Promise.withResolvers<void>();
    const look = (): void => {
      try {
        if (isOver()) done.resolve();
      } catch (error) {
        done.reject(new Error(`binding volumes: ${messageOf(error)}`, { cause: error }));
      }
    };
    const abort = (): void => done.reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    const stopTimer = this.#clock.after(timeoutMs, () =>
      done.reject(new Error("binding volumes: context deadline exceeded")),
    );
    for (const key of keys) this.#add(key, look);
    try {
      signal.throwIfAborted();
      look();
      await done.promise;
    } finally {
      stopTimer();
      signal.removeEventListener("abort", abort);
      for (const key of keys) this.#remove(key, look);
    }
  }

  #add(key: string, look: () => void): void {
    const watchers = this.#watchers.get(key) ?? new Set();
    this.#watchers.set(key, watchers.add(look));
    this.#unsubscribe ??= this.#subscribe();
  }

  /** Caches are not in step: a claim may be seen as bound before its volume is seen. */
  #subscribe(): () => void {
    const lookAt = (key: string): void => {
      for (const watcher of [...(this.#watchers.get(key) ?? [])]) watcher();
    };
    const claims = this.#informers.of(PersistentVolumeClaim);
    const stops = [
      claims.subscribe(({ object }) => lookAt(claimKeyOf(object.metadata))),
      this.#informers.of(PersistentVolume).subscribe(({ object: { spec } }) => {
        if (spec.claimRef) lookAt(claimKeyOf(spec.claimRef));
      }),
      this.#informers.of(Node).subscribe(({ type }) => {
        if (type === "delete") for (const key of [...this.#watchers.keys()]) lookAt(key);
      }),
    ];
    return () => {
      for (const stop of stops) stop();
    };
  }

  #remove(key: string, look: () => void): void {
    const watchers = this.#watchers.get(key);
    watchers?.delete(look);
    if (watchers?.size === 0) this.#watchers.delete(key);
    if (this.#watchers.size > 0) return;
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
  }
}
