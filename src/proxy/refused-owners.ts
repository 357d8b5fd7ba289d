import { type Refusal } from "./apply.ts";

/** How long a refused fragment is omitted, at first and at most. */
const leaveOutMs = { first: 30_000, most: 600_000 };

interface Refused {
  readonly complaint: string;
  readonly waitMs: number;
  /** Infinite while a retry is in progress. */
  retryAtMs: number;
}

/** Owners whose fragments the kernel refused, and when to retry them. */
export class RefusedOwners {
  readonly #refused = new Map<string, Refused>();

  complaintAbout(owner: string): string | undefined {
    return this.#refused.get(owner)?.complaint;
  }

  /** The owner has a new fragment. */
  forget(owner: string): void {
    this.#refused.delete(owner);
  }

  /** Owners that are due for a retry. */
  takeDue(nowMs: number): string[] {
    const due = [...this.#refused].filter(([, { retryAtMs }]) => retryAtMs <= nowMs);
    for (const [, refused] of due) refused.retryAtMs = Number.POSITIVE_INFINITY;
    return due.map(([owner]) => owner);
  }

  /** Records the result of a transaction. Returns the owners whose state has changed. */
  note(refusals: readonly Refusal[], nowMs: number): string[] {
    const now = new Map(refusals.map(({ owner, complaint }) => [owner, complaint]));
    const news = new Set(now.keys());
    for (const [owner, { retryAtMs }] of this.#refused) {
      if (retryAtMs !== Number.POSITIVE_INFINITY || now.has(owner)) continue;
      this.#refused.delete(owner); // The kernel accepted it.
      news.add(owner);
    }
    for (const [owner, complaint] of now) {
      const before = this.#refused.get(owner)?.waitMs;
      const waitMs = before ? Math.min(before * 2, leaveOutMs.most) : leaveOutMs.first;
      this.#refused.set(owner, { complaint, waitMs, retryAtMs: nowMs + waitMs });
    }
    return [...news];
  }
}
