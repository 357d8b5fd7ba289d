import { goQuote } from "#lib/text/go-quote.ts";

/** One fault in an object: where, what kind, and upstream's message for it. */
export interface FieldError {
  readonly path: string;
  readonly reason: FieldErrorReason;
  /** Without the path: `Invalid value: "x": must be …`. */
  readonly message: string;
}

/** An object may have a fault in each of thousands of items; nobody reads more than these. */
export const maxFaults = 200;

export type FieldErrorReason =
  | "FieldValueRequired"
  | "FieldValueInvalid"
  | "FieldValueDuplicate"
  | "FieldValueNotFound"
  | "FieldValueNotSupported"
  | "FieldValueForbidden"
  | "FieldValueTooLong"
  | "FieldValueTooMany"
  | "FieldValueTypeInvalid";

/** A place in an object. Immutable and cheap: the text is built only when a fault is reported. */
export class FieldPath {
  readonly #parent: FieldPath | undefined;
  readonly #step: string | number;
  readonly #isField: boolean;

  constructor(step: string | number, parent?: FieldPath, isField = true) {
    this.#step = step;
    this.#parent = parent;
    this.#isField = isField;
  }
  child(name: string, ...more: string[]): FieldPath {
    let at = new FieldPath(name, this);
    for (const next of more) at = new FieldPath(next, at);
    return at;
  }
  index(index: number): FieldPath {
    return new FieldPath(index, this, false);
  }
  key(key: string): FieldPath {
    return new FieldPath(key, this, false);
  }
  toString(): string {
    const before = this.#parent?.toString() ?? "";
    if (!this.#isField) return `${before}[${this.#step}]`;
    return before === "" ? String(this.#step) : `${before}.${this.#step}`;
  }
}

/** The object itself; `root.child("spec")` is `spec`. */
export const root = new FieldPath("");

/** Anything that prints as a path. */
interface Place {
  toString(): string;
}

export const requiredValue = (path: Place, detail = ""): FieldError =>
  fault(path, "FieldValueRequired", withDetail("Required value", detail));
export const invalidValue = (path: Place, value: unknown, detail: string): FieldError =>
  fault(path, "FieldValueInvalid", withDetail(`Invalid value: ${show(value)}`, detail));
/** The fault of several fields together shows no value. */
export const invalidTogether = (path: Place, detail: string): FieldError =>
  fault(path, "FieldValueInvalid", withDetail("Invalid value", detail));
export const typeInvalid = (path: Place, value: unknown, detail: string): FieldError =>
  fault(path, "FieldValueTypeInvalid", withDetail(`Invalid value: ${show(value)}`, detail));
export const duplicateValue = (path: Place, value: unknown, detail = ""): FieldError =>
  fault(path, "FieldValueDuplicate", withDetail(`Duplicate value: ${show(value)}`, detail));
export const notFoundValue = (path: Place, value: unknown): FieldError =>
  fault(path, "FieldValueNotFound", `Not found: ${show(value)}`);
export const unsupportedValue = (path: Place, value: unknown, supported: readonly string[]): FieldError =>
  fault(
    path,
    "FieldValueNotSupported",
    withDetail(
      `Unsupported value: ${show(value)}`,
      supported.length > 0 ? `supported values: ${supported.map((v) => goQuote(v)).join(", ")}` : "",
    ),
  );
export const forbiddenValue = (path: Place, detail: string): FieldError =>
  fault(path, "FieldValueForbidden", withDetail("Forbidden", detail));
export const tooLong = (path: Place, maxLength: number): FieldError =>
  fault(path, "FieldValueTooLong", `Too long: may not be more than ${maxLength} ${maxLength === 1 ? "byte" : "bytes"}`);
export const tooMany = (path: Place, actual: number, max: number): FieldError =>
  fault(path, "FieldValueTooMany", `Too many: ${actual}: must have at most ${max} ${max === 1 ? "item" : "items"}`);

const fault = (path: Place, reason: FieldErrorReason, message: string): FieldError => ({
  path: path.toString(),
  reason,
  message,
});
const withDetail = (head: string, detail: string): string => (detail ? `${head}: ${detail}` : head);
/** Go writes these characters escaped, because JSON may be part of a page. */
const goJson = (value: unknown): string =>
  JSON.stringify(value).replace(
    /[<>&\u2028\u2029]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

function show(value: unknown): string {
  if (typeof value === "string") return goQuote(value);
  return value === undefined ? "null" : goJson(value);
}
