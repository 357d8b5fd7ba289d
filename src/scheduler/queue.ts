import { type Pod } from "#api/core/pod.ts";
import { type Clock } from "#lib/clock.ts";
import { Heap } from "#lib/heap.ts";
import { type QueuedPod, type RetryOn, type SchedulerPlugin } from "./framework.ts";

const initialBackoffMs = 1000;
const maxBackoffMs = 10_000;
/** No hint is perfect: whatever has waited this long is tried again. */
const maxUnschedulableMs = 5 * 60_000;
const sweepMs = 30_000;

export interface ClusterChange {
  readonly kind: RetryOn["kind"];
  readonly change: RetryOn["change"];
  readonly object: unknown;
  readonly previous: unknown;
}

/**
 * Pods without a node, in three places:
 *
 *   active        to be tried, the most important first
 *   backing off   to be tried, but failed a moment ago
 *   unschedulable waiting for a change that a plugin which rejected it says may help
 */
export class SchedulingQueue {
  readonly #clock: Clock;
  readonly #plugins: ReadonlyMap<string, SchedulerPlugin>;
  readonly #active: Heap<QueuedPod>;
  readonly #backoff = new Heap<QueuedPod & { until: number }>((a, b) => a.until < b.until);
  readonly #unschedulable = new Map<string, QueuedPod>();
  /** Every pod that is in one of the three, or being tried. */
  readonly #known = new Map<string, QueuedPod>();
  readonly #where = new Map<string, "active" | "backoff" | "unschedulable" | "trying">();
  /** Changes that came while a pod was being tried; it may have been judged without them. */
  readonly #duringAttempt = new Map<string, ClusterChange[]>();
  #wake: (() => void) | undefined;
  #stopTimer: (() => void) | undefined;
  #stopSweep: (() => void) | undefined;

  constructor(clock: Clock, plugins: readonly SchedulerPlugin[]) {
    this.#clock = clock;
    this.#plugins = new Map(plugins.map((plugin) => [plugin.name, plugin]));
    const sort = plugins.find(({ queueSort }) => queueSort);
    this.#active = new Heap((a, b) => sort?.queueSort?.(a, b) ?? a.queuedAt < b.queuedAt);
  }

  get sizes(): { readonly active: number; readonly backoff: number; readonly unschedulable: number } {
    const count = (place: string): number => [...this.#where.values()].filter((where) => where === place).length;
    return { active: count("active"), backoff: count("backoff"), unschedulable: this.#unschedulable.size };
  }

  /** Where a pod stands, for those who ask why it is not placed. */
  placeOf(key: string): "active" | "backoff" | "unschedulable" | "trying" | undefined {
    return this.#where.get(key);
  }

  /** A new pod, or a new version of one that waits. */
  put(key: string, pod: Pod): void {
    const known = this.#known.get(key);
    if (!known) {
      const now = this.#clock.now();
      this.#activate({ pod, key, since: now, queuedAt: now, attempts: 0, rejectedBy: new Set() });
      return;
    }
    const before = known.pod;
    known.pod = pod;
    if (this.#where.get(key) === "unschedulable" && before.spec !== pod.spec && mayHelp(before, pod))
      this.#retry(known);
  }

  delete(key: string): void {
    this.#known.delete(key);
    this.#where.delete(key);
    this.#unschedulable.delete(key);
    this.#duringAttempt.delete(key);
  }

  /** The next pod to try, once there is one. */
  async next(signal: AbortSignal): Promise<QueuedPod> {
    for (;;) {
      signal.throwIfAborted();
      const found = this.tryNext();
      if (found) return found;
      await new Promise<void>((resolve) => {
        const done = () => {
          signal.removeEventListener("abort", done);
          this.#wake = undefined;
          resolve();
        };
        this.#wake = done;
        signal.addEventListener("abort", done, { once: true });
      });
    }
  }

  tryNext(): QueuedPod | undefined {
    for (let queued = this.#active.pop(); queued; queued = this.#active.pop()) {
      // The heaps keep what was deleted or moved until it surfaces.
      if (this.#known.get(queued.key) !== queued || this.#where.get(queued.key) !== "active") continue;
      this.#where.set(queued.key, "trying");
      this.#duringAttempt.set(queued.key, []);
      queued.attempts++;
      return queued;
    }
    return undefined;
  }

  /** No node fits: wait for a change that helps, unless one came meanwhile. */
  rejected(queued: QueuedPod, rejectedBy: ReadonlySet<string>): void {
    if (this.#known.get(queued.key) !== queued) return;
    queued.rejectedBy = rejectedBy;
    const missed = this.#duringAttempt.get(queued.key) ?? [];
    this.#duringAttempt.delete(queued.key);
    if (missed.some((change) => this.#canHelp(queued, change))) return this.#backOff(queued);
    queued.queuedAt = this.#clock.now();
    this.#where.set(queued.key, "unschedulable");
    this.#unschedulable.set(queued.key, queued);
    this.#stopSweep ??= this.#clock.after(sweepMs, () => this.#sweep());
  }

  /** Something went wrong that has nothing to do with the pod: try again after a while. */
  failed(queued: QueuedPod): void {
    this.#duringAttempt.delete(queued.key);
    if (this.#known.get(queued.key) === queued) this.#backOff(queued);
  }

  /** Wakes the pods that this change can help. */
  changed(change: ClusterChange): void {
    for (const changes of this.#duringAttempt.values()) changes.push(change);
    for (const queued of [...this.#unschedulable.values()]) {
      if (this.#canHelp(queued, change)) this.#retry(queued);
    }
  }

  close(): void {
    this.#stopTimer?.();
    this.#stopSweep?.();
  }

  #canHelp(queued: QueuedPod, change: ClusterChange): boolean {
    // No plugin rejected it: there was no node to try.
    if (queued.rejectedBy.size === 0) return true;
    for (const name of queued.rejectedBy) {
      const hints = this.#plugins.get(name)?.retryOn;
      const hint = hints?.find((each) => each.kind === change.kind && each.change === change.change);
      if (hint && (hint.helps?.(queued.pod, change) ?? true)) return true;
    }
    return false;
  }

  #retry(queued: QueuedPod): void {
    this.#unschedulable.delete(queued.key);
    if (this.#backoffEnd(queued) > this.#clock.now()) this.#backOff(queued);
    else this.#activate(queued);
  }

  #activate(queued: QueuedPod): void {
    queued.queuedAt = this.#clock.now();
    this.#known.set(queued.key, queued);
    this.#where.set(queued.key, "active");
    this.#active.push(queued);
    this.#wake?.();
  }

  #backOff(queued: QueuedPod): void {
    this.#where.set(queued.key, "backoff");
    this.#backoff.push(Object.assign(queued, { until: this.#backoffEnd(queued) }));
    this.#armTimer();
  }

  #backoffEnd({ attempts, queuedAt }: QueuedPod): number {
    return queuedAt + Math.min(initialBackoffMs * 2 ** Math.max(attempts - 1, 0), maxBackoffMs);
  }

  #armTimer(): void {
    this.#stopTimer?.();
    const first = this.#backoff.peek();
    this.#stopTimer =
      first && this.#clock.after(Math.max(first.until - this.#clock.now(), 0), () => this.#flushBackoff());
  }

  #flushBackoff(): void {
    const now = this.#clock.now();
    for (let first = this.#backoff.peek(); first && first.until <= now; first = this.#backoff.peek()) {
      this.#backoff.pop();
      if (this.#known.get(first.key) === first && this.#where.get(first.key) === "backoff") this.#activate(first);
    }
    this.#armTimer();
  }

  #sweep(): void {
    this.#stopSweep = undefined;
    const tooOld = this.#clock.now() - maxUnschedulableMs;
    for (const queued of [...this.#unschedulable.values()]) if (queued.queuedAt < tooOld) this.#retry(queued);
    if (this.#unschedulable.size > 0) this.#stopSweep = this.#clock.after(sweepMs, () => this.#sweep());
  }
}

/** Fewer gates, more tolerations, smaller requests: any change of what is scheduled by may help. */
const mayHelp = (before: Pod, after: Pod): boolean => JSON.stringify(before.spec) !== JSON.stringify(after.spec);
