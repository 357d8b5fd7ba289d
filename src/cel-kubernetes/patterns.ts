import { type Evaluate, type Library, memberOverload } from "#cel/declare/function.ts";
import type { Meter } from "#cel/declare/meter.ts";
import { compilePattern, patternCheck, payForMatch } from "#cel/library/patterns.ts";
import { intType, listType, stringType } from "#cel/types/type.ts";
import { ArrayList } from "#cel/values/collections.ts";
import { CelError, type Integer, isError } from "#cel/values/value.ts";

/** Finding the place of a match takes longer than finding whether there is one. */
const searchTimes = 2;
/** Units of work for each character behind a match. */
const rescanWork = 0.05;

/** The matches of a pattern in a text, at most so many. */
function findAll(meter: Meter, text: string, source: string, limit: number): string[] | CelError {
  const pattern = compilePattern(source, meter);
  if (isError(pattern)) return new CelError(`Illegal regex: ${pattern.message}`);
  payForMatch(meter, pattern, text, searchTimes);
  const found: string[] = [];
  const matcher = pattern.matcher(text);
  while (found.length < limit && matcher.find()) {
    // A search may look at all the rest of the text before it settles for a short match.
    meter.work(1 + (text.length - matcher.end()) * rescanWork);
    found.push(matcher.group() ?? "");
  }
  return found;
}

const find: Evaluate = (meter, text, pattern) => {
  const found = findAll(meter, text as string, pattern as string, 1);
  return isError(found) ? found : (found[0] ?? "");
};

const findMany: Evaluate = (meter, text, pattern, limit = -1) => {
  const most = (limit as Integer) < 0 ? Number.POSITIVE_INFINITY : Number(limit);
  const found = findAll(meter, text as string, pattern as string, most);
  return isError(found) ? found : new ArrayList(found);
};

const strings = listType(stringType);

export const findLibrary: Library = {
  functions: [
    { name: "find", overloads: [memberOverload("string_find_string", [stringType, stringType], stringType, find)] },
    {
      name: "findAll",
      overloads: [
        memberOverload("string_find_all_string", [stringType, stringType], strings, findMany),
        memberOverload("string_find_all_string_int", [stringType, stringType, intType], strings, findMany),
      ],
    },
  ],
  literalChecks: [patternCheck("find"), patternCheck("findAll")],
};
