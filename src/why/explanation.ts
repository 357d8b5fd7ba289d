import { type HopName } from "#trace/hop.ts";

/** Where an object is stuck and why: one clear answer, the evidence for it, and what would help. */
export interface Explanation {
  /** The hop that is not done; undefined if nothing is stuck, or if the problem is not at a hop. */
  readonly hop: HopName | undefined;
  /** The usual name of the state: `Unschedulable`, `CrashLoopBackOff`. */
  readonly state: string;
  /** One sentence. */
  readonly headline: string;
  readonly evidence: readonly string[];
  readonly advice: readonly string[];
}

/** Recognises one family of states; undefined if the object is in none of them. */
export type Explain<F> = (facts: F) => Explanation | undefined;

/** The answer of the first explainer that has one. */
export function firstOf<F>(explainers: readonly Explain<F>[], facts: F): Explanation | undefined {
  for (const explain of explainers) {
    const explanation = explain(facts);
    if (explanation) return explanation;
  }
  return undefined;
}

/** `a, b and c`. */
export function listed(words: readonly string[]): string {
  const [last = "", ...before] = words.toReversed();
  return before.length > 0 ? `${before.toReversed().join(", ")} and ${last}` : last;
}

export const counted = (count: number, word: string): string => `${count} ${word}${count === 1 ? "" : "s"}`;
