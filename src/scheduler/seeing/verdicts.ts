import { type NodeScore, type QueueAnswer, type VerdictsAnswer } from "#trace/answers.ts";
import { type Rejections } from "../explain.ts";

/** One attempt to place a pod: what `orlop why` shows. */
export interface Attempt {
  readonly at: number;
  readonly attempt: number;
  /** The node, or undefined if none was feasible. */
  readonly node: string | undefined;
  readonly score: number;
  readonly evaluated: number;
  readonly feasible: number;
  /** Node → which plugin rejected it and why. Shared between attempts of equivalent pods. */
  readonly rejections: Rejections;
  readonly message: string;
  /** The best nodes by plugin. */
  readonly scores?: readonly NodeScore[] | undefined;
  /** Pods that end for its sake, as `namespace/name`. */
  readonly victims?: readonly string[] | undefined;
  /** Whether it goes on to wait for room on a node, if it did so before. */
  readonly keepsNomination?: boolean | undefined;
}

const keptAttempts = 3;

interface Limits {
  readonly pods: number;
  /** The maximum number of rejections of single nodes, over all pods, because these take the memory. */
  readonly rejections: number;
}

/** The last attempts of the last pods. */
export class Verdicts {
  readonly #byPod = new Map<string, readonly Attempt[]>();
  readonly #limits: Limits;
  #rejections = 0;

  constructor(limits: Limits = { pods: 5000, rejections: 250_000 }) {
    this.#limits = limits;
  }

  add(key: string, attempt: Attempt): void {
    const before = this.#byPod.get(key) ?? [];
    const after = [...before.slice(1 - keptAttempts), attempt];
    this.#byPod.delete(key);
    this.#byPod.set(key, after);
    this.#rejections += sizeOf(after) - sizeOf(before);
    const { pods, rejections } = this.#limits;
    // Several at once, because it takes a while to find the oldest.
    if (this.#byPod.size > pods || this.#rejections > rejections) this.#dropOldest(pods - (pods >> 4), key);
  }

  #dropOldest(size: number, except: string): void {
    for (const [oldest, attempts] of this.#byPod) {
      const isFull = this.#byPod.size > size || this.#rejections > this.#limits.rejections;
      if (!isFull || oldest === except) return;
      this.#byPod.delete(oldest);
      this.#rejections -= sizeOf(attempts);
    }
  }

  /** Where pods wait is asked when somebody wants to know. */
  whereIs: (key: string) => QueueAnswer | undefined = () => undefined;

  /** Oldest first. */
  of(key: string): readonly Attempt[] {
    return this.#byPod.get(key) ?? [];
  }
}

const sizeOf = (attempts: readonly Attempt[]): number =>
  attempts.reduce((sum, { rejections }) => sum + rejections.size, 0);

/** The attempts of a pod in the form of the HTTP response. */
export const renderVerdicts = (attempts: readonly Attempt[], queue?: QueueAnswer): VerdictsAnswer => ({
  ...(queue ? { queue } : {}),
  attempts: attempts.map(({ at, attempt, node, evaluated, message, rejections, scores, victims }) => ({
    atMs: at,
    attempt,
    node: node ?? "",
    evaluated,
    message,
    rejections: Array.from(rejections, ([name, { plugin, reasons }]) => ({ node: name, plugin, reasons })),
    ...(scores ? { scores } : {}),
    ...(victims?.length ? { victims } : {}),
  })),
});
