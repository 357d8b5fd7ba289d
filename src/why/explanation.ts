import { type HopName } from "#trace/hop.ts";

/** Where an object stands and why: one clear answer, then what it rests on and what would help. */
export interface Explanation {
  /** The hop that is not done; undefined if nothing is stuck, or if it is not on that way. */
  readonly hop: HopName | undefined;
  /** In the words that people know: `Unschedulable`, `CrashLoopBackOff`. */
  readonly state: string;
  /** One sentence. */
  readonly headline: string;
  readonly evidence: readonly string[];
  readonly advice: readonly string[];
}

/** Looks at one family of states; undefined: it is not one of these. */
export type Explain<F> = (facts: F) => Explanation | undefined;

/** The first that knows. */
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
