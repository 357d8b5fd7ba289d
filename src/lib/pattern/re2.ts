import { createRequire } from "node:module";
import { BoundedCache } from "../data/bounded-cache.ts";
import { messageOf } from "../text/message-of.ts";
import { patternSize } from "./pattern-size.ts";

/** A pattern in the language of Go. The time to match grows with the lengths of the pattern and of the text. */
export interface Re2 {
  /** Steps of its program. A match takes at most this many for each character, a million in about 20 ms. */
  readonly size: number;
  /** Whether it matches anywhere in the text. */
  matches(text: string): boolean;
}

/** Compiling a longer one takes too long. */
const maxSize = 5_000;

/** Few users need it, and it is large, so it is loaded with the first pattern. */
interface Library {
  readonly RE2JS: {
    compile(pattern: string): { matcher(text: string): { find(): boolean }; programSize(): number };
  };
}
let library: Library | undefined;

/** The same few patterns are used for every object of a kind. */
const known = new BoundedCache<Re2>({ entries: 2000, chars: 512 * 1024, keyChars: 4096 });

/** Whether the pattern is compiled already, so that using it costs nothing extra. */
export const isCompiled = (pattern: string): boolean => known.get(pattern) !== undefined;

/** Compiles a pattern. Throws Re2Error, in the words of Go as far as possible. */
export function re2(pattern: string): Re2 {
  const found = known.get(pattern);
  if (found) return found;
  const size = patternSize(pattern);
  if (size > maxSize) throw new Re2Error("error parsing regexp: expression too large");
  library ??= createRequire(import.meta.url)("re2js") as Library;
  let compiled: ReturnType<Library["RE2JS"]["compile"]>;
  try {
    compiled = library.RE2JS.compile(pattern);
  } catch (error) {
    throw new Re2Error(messageOf(error), { cause: error });
  }
  const made: Re2 = {
    size: Math.max(size, compiled.programSize()),
    matches: (text) => compiled.matcher(text).find(),
  };
  known.set(pattern, made);
  return made;
}

export class Re2Error extends Error {
  override readonly name = "Re2Error";
}
