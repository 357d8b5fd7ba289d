import { isCompiled, type Re2, Re2Error, re2, sizeOf } from "#lib/pattern/re2.ts";
import type { Evaluate, Library, LiteralCheck } from "../declare/function.ts";
import { memberOverload, overload, withCost } from "../declare/function.ts";
import type { Meter } from "../declare/meter.ts";
import { boolType, stringType } from "../types/type.ts";
import { parseDuration } from "../values/duration.ts";
import { parseTimestamp } from "../values/timestamp.ts";
import { CelError, isError } from "../values/value.ts";
import { matching } from "./costs.ts";

/** Units of work for each step of a pattern that is compiled, and for each step of a match. */
const compileWork = 200;
const matchWork = 0.4;

/** A compiled pattern. Patterns that are made while an expression runs are paid for by `meter`. */
export function compilePattern(pattern: string, meter?: Meter): Re2 | CelError {
  if (meter && !isCompiled(pattern)) meter.work((sizeOf(pattern) + 10) * compileWork);
  try {
    return re2(pattern);
  } catch (error) {
    if (error instanceof Re2Error) return new CelError(error.message);
    throw error;
  }
}

/** Must be called before a text is matched: a large pattern against a long text is more work than its cost says. */
export function payForMatch(meter: Meter, pattern: Re2, text: string, times = 1): void {
  meter.work(pattern.stepsFor(text) * matchWork * times);
}

const matches: Evaluate = (meter, text, source) => {
  const pattern = compilePattern(source as string, meter);
  if (isError(pattern)) return pattern;
  payForMatch(meter, pattern, text as string);
  return pattern.matches(text as string);
};

/** A literal that would fail each time the expression runs. */
function literalCheck(functionName: string, isMember: boolean, isValid: (text: string) => boolean): LiteralCheck {
  return {
    functionName,
    isMember,
    argumentIndex: 0,
    check: (value) => (typeof value === "string" && !isValid(value) ? `invalid ${functionName} argument` : undefined),
  };
}

/** The same for a pattern, which takes long to compile if it is large. */
export const patternCheck = (functionName: string): LiteralCheck => ({
  ...literalCheck(functionName, true, isPattern),
  workFor: (value) => (typeof value === "string" ? sizeOf(value) : 0),
});

const isPattern = (text: string): boolean => !isError(compilePattern(text));

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
    patternCheck("matches"),
  ],
};
