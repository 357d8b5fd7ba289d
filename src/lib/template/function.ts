import type { Meter } from "./faults.ts";
import type { Value } from "./values.ts";

/** A function that templates can call. */
export interface TemplateFunction<S = never> {
  readonly least: number;
  readonly most: number;
  /** The meter is charged for what the function makes; the scope is what `render` was given. */
  call(parameters: readonly Value[], meter: Meter, scope: S): Value;
}

export type TemplateFunctions<S = never> = Readonly<Record<string, TemplateFunction<S>>>;

type Implementation<S> = (parameters: readonly Value[], meter: Meter, scope: S) => Value;

/** A function with a fixed number of parameters, or with a number between two. */
export const takes = <S = unknown>(least: number, call: Implementation<S>, most = least): TemplateFunction<S> => ({
  least,
  most,
  call,
});

export const anyNumber = Number.POSITIVE_INFINITY;
