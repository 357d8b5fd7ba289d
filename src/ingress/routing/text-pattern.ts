import { type Re2, Re2Error, re2, sizeOf } from "#lib/pattern/re2.ts";

/** A regular expression of a route, in the language of Go. It must match the whole text, as in Envoy. */
export interface TextPattern {
  readonly source: string;
  /** Steps to match a text at most. */
  stepsFor(text: string): number;
  matches(text: string): boolean;
}

/** Steps of a program. Patterns of routes are short; a larger one would be slow for every request. */
const maxSize = 300;

/** The pattern, or why it cannot be used. */
export function compilePattern(source: string): TextPattern | string {
  if (sizeOf(source) > maxSize) return "a regular expression of that size";
  try {
    re2(source); // Alone, because the part around it must not complete it.
    const whole: Re2 = re2(`^(?:${source})$`);
    return { source, stepsFor: whole.stepsFor, matches: whole.matches };
  } catch (error) {
    if (error instanceof Re2Error) return `the regular expression ${JSON.stringify(source.slice(0, 100))}`;
    throw error;
  }
}

/** About 5 ms for the patterns of a namespace, and 25 ms for all. */
const stepsPerOwner = 200_000;
const stepsPerRequest = 1_000_000;

/** What the patterns of routes may take of one request. A pattern for which nothing is left does not match. */
export class PatternBudget {
  readonly #left = new Map<string, number>();
  #total = stepsPerRequest;
  readonly #skipped = new Set<string>();

  /** The namespace of the pattern pays for it, so that no other one's patterns stop working. */
  matches(pattern: TextPattern, text: string, namespace: string): boolean {
    const steps = pattern.stepsFor(text);
    const left = this.#left.get(namespace) ?? stepsPerOwner;
    if (steps > left || steps > this.#total) {
      this.#skipped.add(namespace);
      return false;
    }
    this.#left.set(namespace, left - steps);
    this.#total -= steps;
    return pattern.matches(text);
  }

  /** Whether a pattern of the namespace was not tried; without a namespace, of any. */
  hasSkipped(namespace?: string): boolean {
    return namespace === undefined ? this.#skipped.size > 0 : this.#skipped.has(namespace);
  }
}
