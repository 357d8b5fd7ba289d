import { type Pod } from "#api/core/pod.ts";
import { type Clock } from "#lib/async/clock.ts";
import { formatDuration } from "#schema/duration.ts";

/** A pod that has a node but may not be bound yet. */
export interface WaitingPod {
  readonly pod: Pod;
  readonly node: string;
  /** The plugins that have not allowed it yet. */
  readonly pending: ReadonlySet<string>;
  /** The last plugin that allows it lets the pod go on. */
  allow(plugin: string): void;
  /** One plugin is enough. */
  reject(plugin: string, reason: string): void;
}

/** A plugin does not let a pod be bound. */
export class NotPermitted extends Error {
  override readonly name = "NotPermitted";
  readonly plugin: string;

  constructor(plugin: string, reason: string) {
    super(reason);
    this.plugin = plugin;
  }
}

/** As upstream: no plugin can hold a pod, and the room that it takes, for longer. */
const maxWaitMs = 15 * 60_000;

/** Pods that wait for permission. They keep their nodes meanwhile. */
export class WaitingPods {
  readonly #clock: Clock;
  readonly #byUid = new Map<string, WaitingPod>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#byUid.size;
  }

  of({ metadata }: Pod): WaitingPod | undefined {
    return this.#byUid.get(metadata.uid);
  }

  [Symbol.iterator](): IterableIterator<WaitingPod> {
    return this.#byUid.values();
  }

  /** Resolves when every plugin has allowed the pod; fails with NotPermitted, or when the signal fires. */
  async wait(pod: Pod, node: string, plugins: ReadonlyMap<string, number>, signal: AbortSignal): Promise<void> {
    const pending = new Set(plugins.keys());
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const entry: WaitingPod = {
      pod,
      node,
      pending,
      allow(plugin) {
        pending.delete(plugin);
        if (pending.size === 0) resolve();
      },
      reject: (plugin, reason) => reject(new NotPermitted(plugin, reason)),
    };
    const stops = Array.from(plugins, ([plugin, ms]) => this.#limit(entry, plugin, Math.min(ms, maxWaitMs)));
    const aborted = () => reject(signal.reason as Error);
    signal.addEventListener("abort", aborted, { once: true });
    this.#byUid.set(pod.metadata.uid, entry);
    try {
      signal.throwIfAborted();
      await promise;
    } finally {
      this.#byUid.delete(pod.metadata.uid);
      signal.removeEventListener("abort", aborted);
      for (const stop of stops) stop();
    }
  }

  #limit(entry: WaitingPod, plugin: string, ms: number): () => void {
    const waited = formatDuration(BigInt(Math.round(ms * 1e6)));
    return this.#clock.after(ms, () => {
      if (!entry.pending.has(plugin)) return;
      entry.reject(plugin, `rejected due to timeout after waiting ${waited} at plugin ${plugin}`);
    });
  }
}
