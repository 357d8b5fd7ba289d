import { weigh } from "../data/weigh.ts";

/** Where something stands in a template, both from 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/** A template that cannot be read. */
export class TemplateError extends Error {
  override readonly name = "TemplateError";
  constructor(message: string, { line, column }: Place) {
    super(`line ${line}, column ${column}: ${message}`);
  }
}

/** A template that cannot be rendered with this data. */
export class TemplateFault extends Error {
  override readonly name = "TemplateFault";
}

/** Some milliseconds at most. */
const maxRead = 200_000;

/** Stops a rendering that takes too long or writes too much. */
export class Meter {
  #steps: number;
  #readable = maxRead;
  constructor(steps: number) {
    this.#steps = steps;
  }
  /** Before a function reads these values as a whole. */
  read(values: readonly unknown[]): void {
    for (const value of values) weigh(value, this.#compare);
  }
  readonly #compare = (values: number): void => {
    this.#readable -= values;
    if (this.#readable < 0) throw new TemplateFault("reads too much");
  };
  spend(steps: number): void {
    this.#steps -= steps;
    if (this.#steps < 0) throw new TemplateFault("takes too many steps");
  }
}
