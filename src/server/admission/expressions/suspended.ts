/**
 * Thrown out of an evaluation that has to wait. Expressions have no way to wait, so the caller settles what they wait
 * for and runs them again: they have no effects, and this time the value is there.
 */
export class Suspended extends Error {
  override readonly name = "Suspended";
  readonly settle: () => Promise<void>;
  constructor(settle: () => Promise<void>) {
    super("the evaluation has to wait");
    this.settle = settle;
  }
}
