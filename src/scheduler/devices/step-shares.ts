import { type Clock } from "#lib/async/clock.ts";
import { LruMap } from "#lib/data/lru-map.ts";

/** About two seconds of work for one pod, and a fifth of the scheduler's time for all pods of a namespace. */
const maxSteps = 2_000_000;
const stepsPerMs = 200;
const maxNamespaces = 10_000;

/** How many steps of the search the pods of each namespace may take, so that hard claims do not hold up all other pods. */
export class StepShares {
  readonly #clock: Clock;
  readonly #left = new LruMap<string, { readonly steps: number; readonly atMs: number }>(maxNamespaces);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  left(namespace: string): number {
    const known = this.#left.get(namespace);
    if (!known) return maxSteps;
    return Math.min(known.steps + (this.#clock.now() - known.atMs) * stepsPerMs, maxSteps);
  }

  spend(namespace: string, steps: number): void {
    this.#left.set(namespace, { steps: Math.max(this.left(namespace) - steps, 0), atMs: this.#clock.now() });
  }
}
