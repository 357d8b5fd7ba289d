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

/** Stops a rendering that takes too long or writes too much. */
export class Meter {
  #steps: number;
  constructor(steps: number) {
    this.#steps = steps;
  }
  spend(steps: number): void {
    this.#steps -= steps;
    if (this.#steps < 0) throw new TemplateFault("takes too many steps");
  }
}
