import { type Cursor } from "#api/cursor.ts";

/** A path without `..`. */
export function validateNoBacksteps(at: Cursor<string>): void {
  if (hasBackstep(at.value)) at.invalid("must not contain '..'");
}

export const hasBackstep = (value: string): boolean => /(?:^|\/)\.\.(?:\/|$)/.test(value);

/** A relative path without `..`. */
export function validateDescendingPath(at: Cursor<string>): void {
  if (at.value.startsWith("/")) at.invalid("must be a relative path");
  validateNoBacksteps(at);
}

/** The same where names that start with `..` belong to the kubelet. */
export function validateFilePath(at: Cursor<string>): void {
  validateDescendingPath(at);
  if (at.value.startsWith("..") && !at.value.startsWith("../")) at.invalid("must not start with '..'");
}
