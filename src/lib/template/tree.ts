import type { Place } from "./faults.ts";
import type { TemplateFunction } from "./function.ts";
import type { Value } from "./values.ts";

/** Something that has a value. */
export type Operand = Place &
  (
    | { readonly type: "literal"; readonly value: Value }
    | { readonly type: "dot" }
    | { readonly type: "variable"; readonly name: string }
    | { readonly type: "pipeline"; readonly pipeline: Pipeline }
    | { readonly type: "field"; readonly of: Operand; readonly name: string }
    | { readonly type: "call"; readonly call: Call }
  );

export interface Call extends Place {
  readonly name: string;
  readonly function: TemplateFunction;
  readonly parameters: readonly Operand[];
}

/** `a | b | c`: each is a call with the value before it as its last parameter. */
export interface Pipeline extends Place {
  readonly first: Operand;
  readonly rest: readonly Call[];
  /** The variables that get its value. */
  readonly variables: readonly string[];
  /** Whether these exist already. */
  readonly isAssignment: boolean;
}

export type Statement = Place &
  (
    | { readonly type: "copy"; readonly text: string }
    | { readonly type: "print"; readonly pipeline: Pipeline }
    | { readonly type: "break" | "continue" }
    | Branch
  );

export interface Branch {
  readonly type: "if" | "with" | "range";
  readonly pipeline: Pipeline;
  readonly body: readonly Statement[];
  readonly otherwise: readonly Statement[];
}
