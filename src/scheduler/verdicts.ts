import { type VerdictsAnswer } from "#trace/answers.ts";
import { type Rejection } from "./framework.ts";

/** One attempt to place a pod: what `orlop why` shows. */
export interface Attempt {
  readonly at: number;
  readonly attempt: number;
  /** The node, or undefined if none fitted. */
  readonly node: string | undefined;
  readonly score: number;
  readonly evaluated: number;
  readonly feasible: number;
  /** Node → which plugin refused it and why. Shared between attempts of pods that are alike. */
  readonly rejections: ReadonlyMap<string, Rejection & { plugin: string }>;
  readonly message: string;
}

const keptPods = 5000;
const keptAttempts = 3;

/** The last attempts of the last pods. */
export class Verdicts {
  readonly #byPod = new Map<string, Attempt[]>();

  add(key: string, attempt: Attempt): void {
    const kept = this.#byPod.get(key) ?? [];
    this.#byPod.delete(key);
    this.#byPod.set(key, [...kept.slice(1 - keptAttempts), attempt]);
    if (this.#byPod.size <= keptPods) return;
    const [oldest] = this.#byPod.keys();
    if (oldest !== undefined) this.#byPod.delete(oldest);
  }
  /** Oldest first. */
  of(key: string): readonly Attempt[] {
    return this.#byPod.get(key) ?? [];
  }
}

/** The attempts as they are told to others. */
export const renderVerdicts = (attempts: readonly Attempt[]): VerdictsAnswer => ({
  attempts: attempts.map(({ at, attempt, node, evaluated, message, rejections }) => ({
    atMs: at,
    attempt,
    node: node ?? "",
    evaluated,
    message,
    rejections: Array.from(rejections, ([name, { plugin, reasons }]) => ({ node: name, plugin, reasons })),
  })),
});
