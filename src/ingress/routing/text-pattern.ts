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

/** About 5 ms. */
const stepsPerRequest = 200_000;

/** What the patterns of all routes may take of one request. A pattern for which nothing is left does not match. */
export class PatternBudget {
  #left = stepsPerRequest;

  matches(pattern: TextPattern, text: string): boolean {
    const steps = pattern.stepsFor(text);
    if (steps > this.#left) return false;
    this.#left -= steps;
    return pattern.matches(text);
  }
}
