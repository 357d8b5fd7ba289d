import { type Refusal } from "./apply.ts";

/** How long a fragment that the kernel refused is left out, at first and at most. */
const leaveOutMs = { first: 30_000, most: 600_000 };

interface Refused {
  readonly complaint: string;
  readonly waitMs: number;
  /** Infinite while it is being tried again. */
  retryAtMs: number;
}

/** Owners in the table whose fragments the kernel did not take, and when to try them again. */
export class RefusedOwners {
  readonly #refused = new Map<string, Refused>();

  complaintAbout(owner: string): string | undefined {
    return this.#refused.get(owner)?.complaint;
  }

  /** The owner has something new to try. */
  forget(owner: string): void {
    this.#refused.delete(owner);
  }

  /** Owners to put into the table again. */
  takeDue(nowMs: number): string[] {
    const due = [...this.#refused].filter(([, { retryAtMs }]) => retryAtMs <= nowMs);
    for (const [, refused] of due) refused.retryAtMs = Number.POSITIVE_INFINITY;
    return due.map(([owner]) => owner);
  }

  /** Takes note of what came of a transaction; returns the owners about whom there is news. */
  note(refusals: readonly Refusal[], nowMs: number): string[] {
    const now = new Map(refusals.map(({ owner, complaint }) => [owner, complaint]));
    const news = new Set(now.keys());
    for (const [owner, { retryAtMs }] of this.#refused) {
      if (retryAtMs !== Number.POSITIVE_INFINITY || now.has(owner)) continue;
      this.#refused.delete(owner); // The kernel has taken it.
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
