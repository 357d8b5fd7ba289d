/** What a client sent cannot be read. The message is the one that Go's decoder gives. */
export class DecodeError extends Error {
  override readonly name = "DecodeError";
}

/** The body has too many parts: reading and checking them would block all other requests. */
export class TooManyValues extends DecodeError {
  constructor() {
    super(`Request entity too large: it has more than ${maxValues} values`);
  }
}

/** A value of the wrong type, seen where its place is not known yet; becomes a DecodeError that names the place. */
export class Mismatch extends Error {
  override readonly name = "Mismatch";
  /** What was found, in Go's words: `string`, `number 1.5`. */
  readonly found: string;
  /** The Go type that was wanted. */
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

/** How deep a schema that contains itself may be used: far beyond honest objects, well within the stack. */
export const maxRecursion = 256;
/** The same for JSON of any form. */
export const maxDepth = 1000;
/** Numbers, texts, lists and objects in one body: the largest honest ones have some ten thousand. */
export const maxValues = 50_000;
