import { SparseMap } from "#lib/data/sparse-map.ts";

/** How long a container that keeps exiting waits before its restart. */
export interface RestartBackoff {
  readonly delayMs: number;
  /** When it was last restarted. */
  readonly startedAt: number;
}

const baseMs = 10_000;
const usualMaxMs = 300_000;

export type RestartDecision =
  | { readonly at: "now"; readonly backoff: RestartBackoff }
  | { readonly at: number; readonly backoff: RestartBackoff };

export interface Exit {
  readonly finishedAt: number;
  readonly now: number;
  /** The longest pause before a restart; 5 min by default. */
  readonly maxMs?: number;
}

/** Immediately the first time, then after 10 s, 20 s, … 5 min, each counted from the last exit. */
export function decideRestart(
  before: RestartBackoff | undefined,
  { finishedAt, now, maxMs = usualMaxMs }: Exit,
): RestartDecision {
  // A container that ran for twice the longest pause starts without one again.
  if (!before || finishedAt - before.startedAt > 2 * maxMs) {
    return { at: "now", backoff: { delayMs: Math.min(baseMs, maxMs), startedAt: now } };
  }
  const due = finishedAt + before.delayMs;
  if (now < due) return { at: due, backoff: before };
  return { at: "now", backoff: { delayMs: Math.min(before.delayMs * 2, maxMs), startedAt: now } };
}

interface Decided {
  readonly backoff: RestartBackoff;
  /** The ended container that this was decided for. */
  readonly containerId: string;
}

export interface RestartsView {
  /** Whether an ended container may restart now. */
  decide(name: string, ended: EndedContainer, now: number): RestartDecision;
}
export interface EndedContainer {
  readonly id: string;
  readonly finishedAt: number;
}

/** The restarts of one pod's containers. */
export class Restarts implements RestartsView {
  readonly #decided = new SparseMap<string, Decided>();
  readonly #reported = new SparseMap<string, string>();
  readonly #maxMs: number;

  constructor(maxMs: number = usualMaxMs) {
    this.#maxMs = maxMs;
  }

  decide(name: string, ended: EndedContainer, now: number): RestartDecision {
    const before = this.#decided.get(name);
    // Each exit is decided once. Attempts that fail after that back off as steps.
    if (before?.containerId === ended.id) return { at: "now", backoff: before.backoff };
    return decideRestart(before?.backoff, { finishedAt: ended.finishedAt, now, maxMs: this.#maxMs });
  }

  /** Records a restart: after its next exit, the container waits longer. */
  begin(name: string, ended: EndedContainer, now: number): void {
    const { backoff } = this.decide(name, ended, now);
    this.#decided.set(name, { backoff, containerId: ended.id });
  }

  /** True on the first call for this exit of a container. */
  isNewExit(name: string, endedId: string): boolean {
    if (this.#reported.get(name) === endedId) return false;
    this.#reported.set(name, endedId);
    return true;
  }
}
