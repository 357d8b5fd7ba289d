import { Meter } from "../declare/meter.ts";
import type { Value } from "../values/value.ts";

/** One evaluation: the variables, what it has cost, and the values of loop variables in their slots. */
export class Frame extends Meter {
  readonly variables: Variables;
  readonly slots: (Value | undefined)[] = [];

  constructor(variables: Variables, limit: number) {
    super(limit);
    this.variables = variables;
  }
}

/** The variables of an evaluation by name. A value is asked for only when the expression reaches it. */
export interface Variables {
  get(name: string): Value | undefined;
}

/** A planned node: compiled once, run as often as needed. */
export type Run = (frame: Frame) => Value;
