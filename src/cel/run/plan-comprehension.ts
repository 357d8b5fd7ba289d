import type { ComprehensionNode } from "../syntax/ast.ts";
import { ArrayList, EntryMap, GrowingList, GrowingMap, ListValue, MapValue } from "../values/collections.ts";
import { CelError, isError, type Value } from "../values/value.ts";
import type { Frame, Run } from "./frame.ts";
import type { Plan, Planner } from "./planner.ts";

export function planComprehension(planner: Planner, node: ComprehensionNode): Plan {
  if (isBinding(node)) return planBinding(planner, node);
  const range = planner.plan(node.range).run;
  const initial = planner.plan(node.initial);
  const [first, second, accumulator] = [planner.newSlot(), planner.newSlot(), planner.newSlot()];
  const accumulated = { name: node.accumulator, slot: accumulator };
  const variables = [{ name: node.variable, slot: first }];
  if (node.secondVariable !== undefined) variables.push({ name: node.secondVariable, slot: second });
  const [condition, step] = planner.within([accumulated, ...variables], () => [
    planner.plan(node.condition),
    planner.plan(node.step).run,
  ]);
  const result = planner.within([accumulated], () => planner.plan(node.result).run);
  const always = condition.constant === true;
  const loop: Loop = {
    range,
    start: starter(initial),
    condition: always ? undefined : condition.run,
    step,
    first,
    second,
    accumulator,
  };
  const iterate = node.secondVariable === undefined ? iterateOne : iterateTwo;
  return {
    run: (frame) => {
      const failure = iterate(loop, frame);
      return failure ?? finish(result(frame));
    },
  };
}

interface Loop {
  readonly range: Run;
  readonly start: Run;
  /** Absent if the loop always goes on. */
  readonly condition: Run | undefined;
  readonly step: Run;
  readonly first: number;
  readonly second: number;
  readonly accumulator: number;
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

/** Whether the loop goes on after this element, which is in its slot already. */
function advance({ condition, step, accumulator }: Loop, frame: Frame): boolean {
  if (condition && condition(frame) === false) return false;
  frame.slots[accumulator] = step(frame);
  return true;
}

function iterateOne(loop: Loop, frame: Frame): CelError | undefined {
  const range = loop.range(frame);
  if (isError(range)) return range;
  frame.slots[loop.accumulator] = loop.start(frame);
  if (range instanceof ListValue) {
    for (let index = 0; index < range.length; index++) {
      frame.work(1);
      frame.slots[loop.first] = range.at(index);
      if (!advance(loop, frame)) return undefined;
    }
    return undefined;
  }
  if (!(range instanceof MapValue)) return new CelError("no such overload");
  for (const { key } of range.entries()) {
    frame.work(1);
    frame.slots[loop.first] = key;
    if (!advance(loop, frame)) return undefined;
  }
  return undefined;
}

function iterateTwo(loop: Loop, frame: Frame): CelError | undefined {
  const range = loop.range(frame);
  if (isError(range)) return range;
  frame.slots[loop.accumulator] = loop.start(frame);
  if (range instanceof ListValue) {
    for (let index = 0; index < range.length; index++) {
      frame.work(1);
      frame.slots[loop.first] = index;
      frame.slots[loop.second] = range.at(index);
      if (!advance(loop, frame)) return undefined;
    }
    return undefined;
  }
  if (!(range instanceof MapValue)) return new CelError("no such overload");
  for (const { key, value } of range.entries()) {
    frame.work(1);
    frame.slots[loop.first] = key;
    frame.slots[loop.second] = value;
    if (!advance(loop, frame)) return undefined;
  }
  return undefined;
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
