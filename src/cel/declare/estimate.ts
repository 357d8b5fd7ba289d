import type { Node } from "../syntax/ast.ts";
import type { Type } from "../types/type.ts";

/** The least and the most that something may be. Anything from 2^64 on counts as 2^64: nothing grows past it. */
export interface Range {
  readonly min: number;
  readonly max: number;
}

/** Size of a value: characters, bytes, items or entries. */
export type Size = Range;

const unbounded = 2 ** 64;
export const unknownSize: Size = { min: 0, max: unbounded };
export const fixed = (value: number): Range => ({ min: value, max: value });

const cap = (value: number): number => Math.min(value, unbounded);
export const add = (a: Range, b: Range): Range => ({ min: cap(a.min + b.min), max: cap(a.max + b.max) });
export const multiply = (a: Range, b: Range): Range => ({ min: cap(a.min * b.min), max: cap(a.max * b.max) });
/** Rounded up, because a cost is a whole number. */
export const scale = (range: Range, factor: number): Range => ({
  min: cap(Math.ceil(range.min * factor)),
  max: cap(Math.ceil(range.max * factor)),
});
export const union = (a: Range, b: Range): Range => ({ min: Math.min(a.min, b.min), max: Math.max(a.max, b.max) });

/** Going over text costs a tenth of a unit for each character; a pattern counts a quarter for each of its characters. */
export const perCharacter = 0.1;
export const perPatternCharacter = 0.25;

export interface CallEstimate {
  readonly cost: Range;
  /** The size of what the call returns, if it is known. */
  readonly size?: Size;
}

/** A node as estimates see it. */
export interface EstimatedNode {
  readonly type: Type;
  readonly node?: Node;
  /** Variable, then fields, `@items`, `@keys` or `@values`, down to this value, if it is part of a variable. */
  readonly path?: readonly string[];
  readonly size: Size;
  /** The node for the elements of this list. */
  element(): EstimatedNode | undefined;
}

/** How large the data may be: answers for a path and its type. */
export interface SizeHints {
  sizeOf(path: readonly string[] | undefined, type: Type): Size | undefined;
}
