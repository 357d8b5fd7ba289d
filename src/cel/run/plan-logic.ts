import type { CallNode, Node } from "../syntax/ast.ts";
import { type CelError, isError, noSuchOverload, OptionalValue } from "../values/value.ts";
import type { Run } from "./frame.ts";
import type { Plan, Planner } from "./planner.ts";

/** `&&` and `||`: a term that decides the result absorbs the errors of the others. The operators cost nothing. */
export function planLogical(planner: Planner, operands: readonly Node[], decisive: boolean): Plan {
  const terms = operands.map((operand) => planner.plan(operand).run);
  const [first, second] = terms;
  if (first && second && terms.length === 2) return { run: eitherOf(first, second, decisive) };
  return {
    run: (frame) => {
      let error: CelError | undefined;
      for (const term of terms) {
        const value = term(frame);
        if (value === decisive) return decisive;
        if (typeof value !== "boolean") error ??= isError(value) ? value : noSuchOverload;
      }
      return error ?? !decisive;
    },
  };
}

/** The same for two terms, as in most loops. */
function eitherOf(first: Run, second: Run, decisive: boolean): Run {
  return (frame) => {
    const left = first(frame);
    if (left === decisive) return decisive;
    const right = second(frame);
    if (right === decisive) return decisive;
    if (typeof left !== "boolean") return isError(left) ? left : noSuchOverload;
    return typeof right === "boolean" || isError(right) ? right : noSuchOverload;
  };
}

/** Only the branch that is taken is evaluated. A variable as a branch does not cost its own unit. */
export function planConditional(planner: Planner, operands: readonly Node[]): Plan {
  const [condition, yes, no] = operands.map((operand) => planner.plan(operand));
  if (!condition || !yes || !no) throw new Error("a conditional has three operands");
  const [test, whenTrue, whenFalse] = [condition.run, yes.bare ?? yes.run, no.bare ?? no.run];
  const run: Run = (frame) => {
    const value = test(frame);
    if (value === true) return whenTrue(frame);
    if (value === false) return whenFalse(frame);
    return isError(value) ? value : noSuchOverload;
  };
  return { run, bare: run };
}

/** Whether a loop goes on: an error does not end it, because a later element may decide. */
export function planNotStrictlyFalse(planner: Planner, [operand]: readonly Node[]): Plan {
  if (!operand) throw new Error("the condition of a loop has an operand");
  const { run } = planner.plan(operand);
  return {
    run: (frame) => {
      const value = run(frame);
      frame.spend(1);
      return value !== false;
    },
  };
}

/** `a.or(b)` and `a.orValue(b)`: the second is evaluated only if the first has no value. */
export function planOptionalOr(planner: Planner, { name, target, arguments: [other] }: CallNode): Plan {
  if (!target || !other) throw new Error("an optional alternative has two operands");
  const [first, second] = [planner.plan(target).run, planner.plan(other).run];
  return {
    run: (frame) => {
      const value = first(frame);
      if (isError(value)) return value;
      if (!(value instanceof OptionalValue)) return noSuchOverload;
      if (value.value === undefined) return second(frame);
      return name === "or" ? value : value.value;
    },
  };
}
