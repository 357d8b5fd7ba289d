import type { Macro } from "../syntax/macro.ts";
import type { Type } from "../types/type.ts";
import type { Value } from "../values/value.ts";
import type { CallEstimate, EstimatedNode } from "./estimate.ts";
import type { Meter } from "./meter.ts";

/** Computes a call. Arguments are never errors, and match the types of the overload. */
export type Evaluate = (meter: Meter, ...args: Value[]) => Value;

export interface Overload {
  readonly id: string;
  readonly isMember?: boolean;
  /** With the target first, if it is a member. */
  readonly parameters: readonly Type[];
  readonly result: Type;
  readonly evaluate: Evaluate;
  /** What a call costs. One, if absent. */
  cost?(args: readonly Value[], result: Value, meter: Meter): number;
  /** Units of work of each call beyond those of a simple operator, if it takes longer than it costs. */
  readonly work?: number;
  /** Whether the cost does not depend on the result, so that a call that is too expensive does not begin. */
  readonly isPaidFirst?: boolean;
  /** What a call may cost, as far as the sizes of its arguments are known. One, if absent. */
  estimate?(call: EstimatedCall): CallEstimate | undefined;
}

export interface EstimatedCall {
  readonly target: EstimatedNode | undefined;
  readonly arguments: readonly EstimatedNode[];
}

export interface FunctionDeclaration {
  readonly name: string;
  readonly overloads: readonly Overload[];
}

/** What the calls of a function cost. Undefined leaves the answer to the overload. */
export interface FunctionCost {
  /** The overload is empty if it is only known while the expression runs. */
  cost?(overload: string, args: readonly Value[], result: Value, meter: Meter): number | undefined;
  /** Units of work of each call, see `Overload`. */
  readonly work?: number;
  estimate?(overload: string, call: EstimatedCall): CallEstimate | undefined;
}

/** A constant argument that is checked when the expression is compiled, such as a pattern. */
export interface LiteralCheck {
  readonly functionName: string;
  readonly argumentIndex: number;
  readonly isMember: boolean;
  /** What is wrong with the literal. */
  check(value: Value): string | undefined;
  /** How much work the check is; nothing if it is left out. */
  workFor?(value: Value): number;
}

/** Functions, macros and types that belong together. */
export interface Library {
  readonly functions?: readonly FunctionDeclaration[];
  readonly macros?: readonly Macro[];
  /** Types that an expression can name. */
  readonly types?: readonly Type[];
  readonly literalChecks?: readonly LiteralCheck[];
}

/** An overload that is called as `name(…)`. */
export function overload(id: string, parameters: readonly Type[], result: Type, evaluate: Evaluate): Overload {
  return { id, parameters, result, evaluate };
}

/** An overload that is called as `target.name(…)`. */
export function memberOverload(id: string, parameters: readonly Type[], result: Type, evaluate: Evaluate): Overload {
  return { id, isMember: true, parameters, result, evaluate };
}

/** Gives overloads the same cost and estimate. */
export function withCost(
  costs: Pick<Overload, "cost" | "estimate" | "isPaidFirst">,
  ...overloads: readonly Overload[]
): readonly Overload[] {
  return overloads.map((each) => ({ ...each, ...costs }));
}
