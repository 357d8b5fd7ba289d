import { createRequire } from "node:module";
import { BoundedCache } from "../data/bounded-cache.ts";
import { messageOf } from "./message-of.ts";

/** A pattern in the language of Go. The time to match grows with the lengths of the pattern and of the text. */
export interface Re2 {
  /** Whether it matches anywhere in the text. "too long": that would take so long that others had to wait. */
  matches(text: string): boolean | "too long";
}

/** Steps of a match, at worst one for each instruction and character. A million take about 20 ms. */
const maxSteps = 2_000_000;
/** Compiling a longer one could take long. */
const maxPatternChars = 4096;
/** One with more instructions takes too long with any text. */
const maxInstructions = 20_000;

/** Few users need it, and it is large, so it is loaded with the first pattern. */
interface Library {
  readonly RE2JS: {
    compile(pattern: string): { matcher(text: string): { find(): boolean }; programSize(): number };
  };
}
let library: Library | undefined;

/** The same few patterns are used for every object of a kind. */
const known = new BoundedCache<Re2>({ entries: 2000, chars: 512 * 1024, keyChars: 4096 });

/** Compiles a pattern. Throws Re2Error, in the words of Go as far as possible. */
export function re2(pattern: string): Re2 {
  const found = known.get(pattern);
  if (found) return found;
  if (pattern.length > maxPatternChars) {
    throw new Re2Error(`error parsing regexp: expression longer than ${maxPatternChars} characters`);
  }
  library ??= createRequire(import.meta.url)("re2js") as Library;
  let compiled: ReturnType<Library["RE2JS"]["compile"]>;
  try {
    compiled = library.RE2JS.compile(pattern);
  } catch (error) {
    throw new Re2Error(messageOf(error), { cause: error });
  }
  const size = compiled.programSize();
  if (size > maxInstructions) throw new Re2Error("error parsing regexp: expression too large");
  const made: Re2 = {
    matches: (text) => (size * text.length > maxSteps ? "too long" : compiled.matcher(text).find()),
  };
  known.set(pattern, made);
  return made;
}

export class Re2Error extends Error {
  override readonly name = "Re2Error";
}
