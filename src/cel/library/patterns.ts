import { createRequire } from "node:module";
import type { RE2JS } from "re2js";
import { BoundedCache } from "#lib/data/bounded-cache.ts";
import { maxPatternSize, patternSize } from "#lib/pattern/pattern-size.ts";
import type { Evaluate, Library, LiteralCheck } from "../declare/function.ts";
import { memberOverload, overload, withCost } from "../declare/function.ts";
import type { Meter } from "../declare/meter.ts";
import { boolType, stringType } from "../types/type.ts";
import { parseDuration } from "../values/duration.ts";
import { parseTimestamp } from "../values/timestamp.ts";
import { CelError, isError } from "../values/value.ts";
import { matching } from "./costs.ts";

/** Regular expressions of RE2: they take time in proportion to text and pattern, whatever a user writes. */
export type Pattern = RE2JS;

let engine: typeof RE2JS | undefined;

/** The engine is large, and most clusters have no expression that needs it. */
function loadEngine(): typeof RE2JS {
  engine ??= (createRequire(import.meta.url)("re2js") as { RE2JS: typeof RE2JS }).RE2JS;
  return engine;
}

/** A step of a compiled pattern takes as much memory as this many characters. */
const charsPerStep = 100;
const compiled = new BoundedCache<Pattern | CelError>({ entries: 500, chars: 10_000_000, keyChars: 10_000 });
/** Units of work for each step of a pattern that is compiled, and for each step times character that is matched. */
const compileWork = 100;
const matchWork = 0.25;
const maxPatternLength = 10_000;

/** A compiled pattern. Patterns that are made while an expression runs are paid for by `meter`. */
export function compilePattern(pattern: string, meter?: Meter): Pattern | CelError {
  const known = compiled.get(pattern);
  if (known) return known;
  if (pattern.length > maxPatternLength) return tooLarge;
  const size = patternSize(pattern);
  if (size > maxPatternSize) return tooLarge;
  meter?.work((size + 10) * compileWork);
  const made = tryCompile(pattern);
  compiled.set(pattern, made, size * charsPerStep);
  return made;
}

const tooLarge = new CelError("error parsing regexp: expression too large");

function tryCompile(pattern: string): Pattern | CelError {
  try {
    return loadEngine().compile(pattern);
  } catch (error) {
    return new CelError(error instanceof Error ? error.message : String(error));
  }
}

/** Must be called before a text is matched: a large pattern against a long text is more work than its cost says. */
export function payForMatch(meter: Meter, pattern: Pattern, text: string, times = 1): void {
  meter.work(text.length * pattern.programSize() * matchWork * times);
}

const matches: Evaluate = (meter, text, source) => {
  const pattern = compilePattern(source as string, meter);
  if (isError(pattern)) return pattern;
  payForMatch(meter, pattern, text as string);
  return pattern.test(text as string);
};

/** A literal that would fail each time the expression runs. */
export function literalCheck(
  functionName: string,
  isMember: boolean,
  isValid: (text: string) => boolean,
): LiteralCheck {
  return {
    functionName,
    isMember,
    argumentIndex: 0,
    check: (value) => (typeof value === "string" && !isValid(value) ? `invalid ${functionName} argument` : undefined),
  };
}

export const isPattern = (text: string): boolean => !isError(compilePattern(text));

export const patternLibrary: Library = {
  functions: [
    {
      name: "matches",
      overloads: withCost(
        matching,
        memberOverload("matches_string", [stringType, stringType], boolType, matches),
        overload("matches", [stringType, stringType], boolType, matches),
      ),
    },
  ],
};

/** Refuses patterns, durations and times that are wrong when the expression is compiled. */
export const literalLibrary: Library = {
  literalChecks: [
    literalCheck("duration", false, (text) => parseDuration(text) !== undefined),
    literalCheck("timestamp", false, (text) => parseTimestamp(text) !== undefined),
    literalCheck("matches", true, isPattern),
  ],
};
