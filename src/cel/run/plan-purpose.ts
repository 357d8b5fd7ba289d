import type { LoopPurpose } from "../syntax/ast.ts";
import { ArrayList } from "../values/collections.ts";
import { type CelError, isError, noSuchOverload, type Value } from "../values/value.ts";
import type { Frame, Run } from "./frame.ts";
import type { Plan, Planner } from "./planner.ts";

/** What a loop does with its elements. */
export interface Fold {
  start(frame: Frame): FoldState;
}

export interface FoldState {
  /** Takes the element that is in its slot. False ends the loop. */
  advance(frame: Frame): boolean;
  finish(frame: Frame): Value;
}

/**
 * The loops of our own macros, with the accumulator in a variable of JavaScript. They cost exactly what their steps would:
 * reading the accumulator is one unit, `!` one, and asking whether to go on one.
 */
export function planPurpose(planner: Planner, purpose: LoopPurpose | undefined): Fold | undefined {
  switch (purpose?.kind) {
    case "all":
      return quantifier(planner.plan(purpose.test), false, 2);
    case "exists":
      return quantifier(planner.plan(purpose.test), true, 3);
    case "collect": {
      const element = planner.plan(purpose.element);
      // The list around a constant is a constant too, and costs nothing.
      const cost = element.constant === undefined ? 12 : 2;
      return collection(purpose.test && planner.plan(purpose.test).run, element.run, cost);
    }
    default:
      return undefined;
  }
}

/** `all` and `exists`: one value decides, and an error waits whether another element does. */
function quantifier({ run, flat }: Plan, decisive: boolean, conditionCost: number): Fold {
  const test = flat?.run ?? run;
  const elementCost = conditionCost + 1 + (flat?.cost ?? 0);
  return {
    start() {
      let result: boolean | CelError = !decisive;
      return {
        advance(frame) {
          if (result === decisive) {
            frame.spend(conditionCost);
            return false;
          }
          frame.spend(elementCost);
          const value = test(frame);
          if (value === decisive) result = decisive;
          else if (value !== !decisive && result === !decisive) result = isError(value) ? value : noSuchOverload;
          return true;
        },
        finish(frame) {
          frame.spend(1);
          return result;
        },
      };
    },
  };
}

/** Units of work to look at an element, and to keep it. */
const elementWork = 6;

/** `map`, `filter` and `transformList`. The first error ends them: no other element can make up for it. */
function collection(test: Run | undefined, element: Run, cost: number): Fold {
  return {
    start() {
      const items: Value[] = [];
      let error: CelError | undefined;
      return {
        advance(frame) {
          frame.work(elementWork);
          const isWanted = test ? test(frame) : true;
          if (isWanted === false) return true;
          const value = isWanted === true ? element(frame) : isWanted;
          if (isWanted !== true || isError(value)) {
            error = isError(value) ? value : noSuchOverload;
            return false;
          }
          frame.spend(cost);
          items.push(value);
          return true;
        },
        finish(frame) {
          frame.spend(1);
          return error ?? new ArrayList(items);
        },
      };
    },
  };
}
