import type { ComprehensionNode } from "../syntax/ast.ts";
import { ArrayList, EntryMap, GrowingList, GrowingMap, ListValue, MapValue } from "../values/collections.ts";
import { CelError, isError, type Value } from "../values/value.ts";
import type { Frame, Run } from "./frame.ts";
import { type Fold, type FoldState, planPurpose } from "./plan-purpose.ts";
import type { LoopVariable, Plan, Planner } from "./planner.ts";

export function planComprehension(planner: Planner, node: ComprehensionNode): Plan {
  if (isBinding(node)) return planBinding(planner, node);
  const [first, second] = [planner.newSlot(), planner.newSlot()];
  const variables = [{ name: node.variable, slot: first }];
  if (node.secondVariable !== undefined) variables.push({ name: node.secondVariable, slot: second });
  const range: Iteration = { range: planner.plan(node.range).run, first, second };
  const iterate = node.secondVariable === undefined ? iterateOne : iterateTwo;
  const fold =
    planner.within(variables, () => planPurpose(planner, node.purpose)) ?? planSteps(planner, node, variables);
  return {
    run: (frame) => {
      const values = range.range(frame);
      if (isError(values)) return values;
      const state = fold.start(frame);
      if (values instanceof ListValue || values instanceof MapValue) iterate(range, values, frame, state);
      else return new CelError("no such overload");
      return state.finish(frame);
    },
  };
}

interface Iteration {
  readonly range: Run;
  readonly first: number;
  readonly second: number;
}

/** Units of work of a step. */
const stepWork = 8;

/** Any loop, step by step. */
function planSteps(planner: Planner, node: ComprehensionNode, variables: readonly LoopVariable[]): Fold {
  const initial = starter(planner.plan(node.initial));
  const accumulator = planner.newSlot();
  const accumulated = { name: node.accumulator, slot: accumulator };
  const [condition, step] = planner.within([accumulated, ...variables], () => [
    planner.plan(node.condition),
    planner.plan(node.step).run,
  ]);
  const goesOn = condition.constant === true ? undefined : condition.run;
  const result = planner.within([accumulated], () => planner.plan(node.result).run);
  return {
    start(frame) {
      frame.slots[accumulator] = initial(frame);
      return {
        advance(at) {
          at.work(stepWork);
          if (goesOn && goesOn(at) === false) return false;
          at.slots[accumulator] = step(at);
          return true;
        },
        finish: (at) => finish(result(at)),
      };
    },
  };
}

/** A loop that starts with an empty list or map may grow it in place: nothing else can see it before the end. */
function starter({ constant, run }: Plan): Run {
  if (constant instanceof ListValue && constant.length === 0) return () => new GrowingList();
  if (constant instanceof MapValue && constant.size === 0) return () => new GrowingMap();
  return run;
}

function finish(value: Value): Value {
  if (value instanceof GrowingList) return new ArrayList(value.items);
  return value instanceof GrowingMap ? new EntryMap(value.content) : value;
}

function iterateOne({ first }: Iteration, range: ListValue | MapValue, frame: Frame, state: FoldState): void {
  const { slots } = frame;
  if (range instanceof ListValue) {
    for (const piece of range.pieces()) {
      const { length } = piece;
      for (let index = 0; index < length; index++) {
        slots[first] = piece.at(index);
        if (!state.advance(frame)) return;
      }
    }
    return;
  }
  for (const key of range.keys()) {
    slots[first] = key;
    if (!state.advance(frame)) return;
  }
}

/** Units of work to read an entry: a large map lies scattered in memory. */
const entryWork = 16;

function iterateTwo({ first, second }: Iteration, range: ListValue | MapValue, frame: Frame, state: FoldState): void {
  const { slots } = frame;
  if (range instanceof ListValue) {
    for (let index = 0; index < range.length; index++) {
      slots[first] = index;
      slots[second] = range.at(index);
      if (!state.advance(frame)) return;
    }
    return;
  }
  for (const { key, value } of range.entries()) {
    frame.work(entryWork);
    slots[first] = key;
    slots[second] = value;
    if (!state.advance(frame)) return;
  }
}

/** `cel.bind` and its like: a loop that never runs, for the sake of its accumulator. */
function isBinding({ range, condition }: ComprehensionNode): boolean {
  return (
    range.kind === "list" && range.elements.length === 0 && condition.kind === "literal" && condition.value === false
  );
}

/** The value is computed when it is first used, and only once. */
function planBinding(planner: Planner, node: ComprehensionNode): Plan {
  const initial = planner.plan(node.initial).run;
  const slot = planner.newSlot();
  const result = planner.within([{ name: node.accumulator, slot, initial }], () => planner.plan(node.result).run);
  return {
    run: (frame) => {
      // A loop around this one may have left a value here.
      frame.slots[slot] = undefined;
      return result(frame);
    },
  };
}
