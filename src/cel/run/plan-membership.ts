import type { CallNode } from "../syntax/ast.ts";
import { type Key, keyOf, ListValue } from "../values/collections.ts";
import { isError } from "../values/value.ts";
import { constant, type Plan, type Planner } from "./planner.ts";

/** `x in [1, 2, 3]` as a look into a set, which costs nothing by itself. Only for lists of plain constants. */
export function planInConstant(planner: Planner, { arguments: operands }: CallNode): Plan | undefined {
  const [element, list] = operands;
  if (element === undefined || list?.kind !== "list") return undefined;
  const values = planner.plan(list).constant;
  if (!(values instanceof ListValue)) return undefined;
  if (values.length === 0) return constant(false);
  const keys = new Set<Key>();
  for (const value of values) {
    const key = keyOf(value);
    if (key === undefined) return undefined;
    keys.add(key);
  }
  const { run } = planner.plan(element);
  return {
    run: (frame) => {
      const value = run(frame);
      if (isError(value)) return value;
      frame.read(value);
      const key = keyOf(value);
      return key !== undefined && keys.has(key);
    },
  };
}
