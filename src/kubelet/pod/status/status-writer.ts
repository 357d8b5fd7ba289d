import type { PodStatus } from "#api/core/pod/pod-status.ts";
import type { Pod } from "#api/core/pod.ts";
import { isConflict, isForbidden, isNotFound, StatusError } from "#api/status.ts";
import { backoffMs } from "#lib/async/backoff.ts";
import type { Clock } from "#lib/async/clock.ts";
import { equal } from "#lib/data/equal.ts";
import type { Log } from "#lib/process/log.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { currentTrace, type Trace } from "#trace/trace.ts";
import type { PodObjects } from "../pod-objects.ts";

export interface StatusWriterDeps {
  readonly objects: PodObjects;
  readonly clock: Clock;
  readonly log: Log;
  /** The newest known version of the pod. */
  pod(): Pod;
  /** The wanted status of this version. */
  render(pod: Pod): PodStatus;
  /** Called with a newer version from the API. */
  seen(pod: Pod): void;
  /** The API refuses the status, and would refuse it again. Called once per reason. */
  refused(message: string): void;
  /** The trace that caused the current write. */
  trace(): Trace | undefined;
}

/**
 * Keeps a pod's status in the API up to date, in the background: no other work waits for it, and changes during one write
 * go into the next.
 */
export class StatusWriter {
  readonly #deps: StatusWriterDeps;
  readonly #stop = new AbortController();
  #writing: Promise<void> | undefined;
  #isDirty = false;
  /** What was last sent, and how the server stored it. */
  #sent: { readonly status: PodStatus; readonly stored: PodStatus } | undefined;
  /** What was last refused, and why. */
  #refusal: Refusal | undefined;
  readonly #flushes = new Set<() => void>();

  constructor(deps: StatusWriterDeps) {
    this.#deps = deps;
  }

  /** The status may have changed. */
  update(): void {
    if (this.#stop.signal.aborted) return;
    this.#isDirty = true;
    this.#writing ??= this.#writeAll();
  }

  /** Resolves when the current state is written or refused. */
  async flush(): Promise<void> {
    this.update();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#flushes.add(resolve);
    if (!this.#writing) this.#flushed();
    await promise;
  }

  #flushed(): void {
    for (const resolve of this.#flushes) resolve();
    this.#flushes.clear();
  }

  /** Nothing is written after this. */
  close(): void {
    this.#stop.abort(new Error("the pod's status is not written any more"));
  }

  async #writeAll(): Promise<void> {
    const { signal } = this.#stop;
    try {
      for (let failures = 0; this.#isDirty && !signal.aborted; ) {
        this.#isDirty = false;
        failures = await this.#writeOrWait(failures);
      }
    } finally {
      // There must be no await between the last check for changes and this line, or an update would be lost.
      this.#writing = undefined;
      this.#flushed();
    }
  }

  /** Returns how many times in a row it failed. */
  async #writeOrWait(failures: number): Promise<number> {
    const { signal } = this.#stop;
    try {
      await this.#writeOnce();
      return 0;
    } catch (error) {
      if (signal.aborted || isNotFound(error)) return 0;
      if (isRefusal(error)) return 0;
      this.#isDirty = true;
      // Permissions can change, so it is retried, but nobody waits for it.
      if (isForbidden(error)) this.#flushed();
      if (isConflict(error) && (await this.#refresh())) return failures;
      const pod = this.#deps.pod().metadata.name;
      this.#deps.log.warn("could not write the status of a pod", { pod, error, failures: failures + 1 });
      await this.#deps.clock.sleep(backoffMs(failures + 1, retry), signal).catch(() => {});
      return failures + 1;
    }
  }

  async #writeOnce(): Promise<void> {
    const { objects, pod, render, seen, trace } = this.#deps;
    const base = pod();
    const status = render(base);
    if (equal(status, base.status)) return;
    const { signal } = this.#stop;
    // The server may have stored it in another form; then sending it again would change nothing.
    if (this.#sent && equal(status, this.#sent.status) && equal(base.status, this.#sent.stored)) return;
    if (this.#refusal && equal(status, this.#refusal.status) && equal(base.status, this.#refusal.base)) return;
    const write = () => objects.writeStatus(base, status, signal);
    const cause = trace();
    try {
      const stored = await (cause ? currentTrace.run(cause, write) : write());
      // Usually it is stored as it was sent, and then kept once.
      this.#sent = { status: equal(status, stored.status) ? stored.status : status, stored: stored.status };
      seen(stored);
    } catch (error) {
      if (isRefusal(error)) this.#noteRefusal({ status, base: base.status, message: messageOf(error) });
      throw error;
    }
  }

  /** A refused status is our bug. It is reported once, and only a different status is sent after it. */
  #noteRefusal(refusal: Refusal): void {
    const isNews = refusal.message !== this.#refusal?.message;
    this.#refusal = refusal;
    if (!isNews) return;
    this.#deps.log.error("the API refused the status of a pod", {
      pod: this.#deps.pod().metadata.name,
      message: refusal.message,
    });
    this.#deps.refused(`The API refused the status of the pod: ${refusal.message}`);
  }

  /** Reads the current pod; false if it is no longer ours. */
  async #refresh(): Promise<boolean> {
    const { objects, pod, seen } = this.#deps;
    const before = pod();
    try {
      const now = await objects.read(before, this.#stop.signal);
      if (now.metadata.uid !== before.metadata.uid) {
        this.close();
        return false;
      }
      if (now.metadata.resourceVersion === before.metadata.resourceVersion) return false;
      seen(now);
      return true;
    } catch (error) {
      if (isNotFound(error)) this.close();
      return false;
    }
  }
}

const retry = { baseMs: 200, maxMs: 10_000 };

interface Refusal {
  readonly status: PodStatus;
  /** The status in the API that it would have replaced. */
  readonly base: PodStatus;
  readonly message: string;
}

/** Whether the API would give the same answer again. */
const isRefusal = (error: unknown): boolean => error instanceof StatusError && refusals.has(error.code);
const refusals = new Set([400, 413, 422]);
