import type { AuditEvent } from "./event.ts";

/** Where events go. */
export interface AuditBackend extends AsyncDisposable {
  readonly name: string;
  /** Returns or resolves with whether the event is written, or will be. It does not throw. */
  process(event: AuditEvent): boolean | Promise<boolean>;
}

/** `batch`: requests do not wait. `blocking`: they wait, also in vain. `blocking-strict`: they fail if nobody writes. */
export type AuditMode = "batch" | "blocking" | "blocking-strict";

/** Writes several events at once. Throws if it cannot; then none of them counts as written. */
export interface AuditWriter extends AsyncDisposable {
  write(events: readonly AuditEvent[]): Promise<void>;
}

export interface AuditCounts {
  /** Events that were lost, by the part that lost them. */
  lost(plugin: string, events: number): void;
}
