/** The client's input cannot be read. The message is that of Go's decoder. */
export class DecodeError extends Error {
  override readonly name = "DecodeError";
}

/** The input could be read, but has too many parts: reading and checking them would block everybody else. */
export class TooManyValues extends DecodeError {
  constructor(what = `more than ${maxValues} values`) {
    super(`Request entity too large: it has ${what}`);
  }
}

/** A value of the wrong type whose place is not known yet; it becomes a DecodeError that names the place. */
export class Mismatch extends Error {
  override readonly name = "Mismatch";
  /** What was found, as Go names it: `string`, `number 1.5`. */
  readonly found: string;
  /** The expected Go type. */
  readonly wanted: string;

  constructor(found: string, wanted: string) {
    super(`json: cannot unmarshal ${found} into Go value of type ${wanted}`);
    this.found = found;
    this.wanted = wanted;
  }
}

/** The kind of a JSON value, as Go names it. */
export function jsonKind(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  const type = typeof value;
  return type === "boolean" ? "bool" : type;
}

/** How deep a recursive schema may nest: far beyond real objects, well within the stack. */
export const maxRecursion = 256;
/** The same limit for arbitrary JSON. */
export const maxDepth = 1000;
/**
 * Numbers, strings, lists and objects in one body: the largest real ones have about ten thousand. A step of a write may
 * visit each of them several times, and must not take longer than a few tens of milliseconds.
 */
export const maxValues = 20_000;
/** Items in one list and entries in one map. Labels and finalizers cost the most, and they have one value each. */
export const maxMembers = 10_000;
