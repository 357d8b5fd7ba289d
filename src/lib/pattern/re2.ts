import { createRequire } from "node:module";
import type { Matcher } from "re2js";
import { BoundedCache } from "../data/bounded-cache.ts";
import { messageOf } from "../text/message-of.ts";
import { patternSize } from "./pattern-size.ts";

/** A pattern in the language of Go. The time to match grows with the lengths of the pattern and of the text. */
export interface Re2 {
  /** Steps of its program. */
  readonly size: number;
  /** How many steps it takes at most to search a text; a million take about 25 ms. */
  stepsFor(text: string): number;
  /** Whether it matches anywhere in the text. */
  matches(text: string): boolean;
  /** Finds one match after the other. */
  matcher(text: string): Matcher;
}

/** Compiling a larger one, or only estimating its size, takes too long. */
const maxSize = 5_000;
const maxChars = 10_000;

/** The same few patterns are used for every object of a kind. A short pattern can become a large program. */
const known = new BoundedCache<Re2>({ entries: 2000, chars: 20_000_000, keyChars: maxChars });
/** A step takes about as much memory as this many characters. */
const charsPerStep = 100;

/** What each character of a text takes, however small the pattern is. */
const stepsPerCharacter = 50;

/** Few users need it, and it is large, so it is loaded with the first pattern. */
let library: typeof import("re2js") | undefined;

/** Whether the pattern is compiled already, so that using it costs nothing extra. */
export const isCompiled = (pattern: string): boolean => known.get(pattern) !== undefined;

/** Roughly the steps of a pattern, before it is compiled. Those that are not compiled at all have the size of the largest. */
export const sizeOf = (pattern: string): number =>
  pattern.length > maxChars ? maxSize : Math.min(patternSize(pattern), maxSize);

/** Compiles a pattern. Throws Re2Error, in the words of Go as far as possible. */
export function re2(pattern: string): Re2 {
  const found = known.get(pattern);
  if (found) return found;
  const estimate = pattern.length > maxChars ? Number.POSITIVE_INFINITY : patternSize(pattern);
  if (estimate > maxSize) throw new Re2Error("error parsing regexp: expression too large");
  const compiled = compile(pattern);
  const size = Math.max(estimate, compiled.programSize());
  // Not `compiled.test`: it is faster for most texts, but takes six times as long for those that hostile users choose.
  const matches = (text: string): boolean => compiled.matcher(text).find();
  const stepsFor = (text: string): number => text.length * (size + stepsPerCharacter);
  const made: Re2 = { size, stepsFor, matches, matcher: (text) => compiled.matcher(text) };
  known.set(pattern, made, size * charsPerStep);
  return made;
}

function compile(pattern: string) {
  library ??= createRequire(import.meta.url)("re2js") as typeof import("re2js");
  try {
    return library.RE2JS.compile(pattern);
  } catch (error) {
    throw new Re2Error(messageOf(error), { cause: error });
  }
}

export class Re2Error extends Error {
  override readonly name = "Re2Error";
}
