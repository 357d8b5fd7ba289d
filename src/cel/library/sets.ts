import { add, fixed, multiply, scale } from "../declare/estimate.ts";
import { type Evaluate, type Library, overload, withCost } from "../declare/function.ts";
import type { Meter } from "../declare/meter.ts";
import { boolType, listType, typeParameter } from "../types/type.ts";
import { type Key, keyOf, type ListValue } from "../values/collections.ts";
import { costSize } from "../values/size.ts";
import type { Value } from "../values/value.ts";
import type { Costs } from "./costs.ts";
import { contains } from "./operators.ts";

const list = listType(typeParameter("T"));

/** Units of work to put one value into a set. */
const itemWork = 20;

/** Whether values are in a list. Plain ones are looked up, so that two long lists do not take the square of their length. */
function membershipOf(meter: Meter, items: ListValue): (value: Value) => boolean {
  const keys = new Set<Key>();
  for (const item of items) {
    meter.work(itemWork);
    meter.read(item);
    const key = keyOf(item);
    if (key !== undefined) keys.add(key);
  }
  return (value) => {
    meter.work(5);
    meter.read(value);
    const key = keyOf(value);
    return key === undefined ? contains(meter, items, value) : keys.has(key);
  };
}

function containsAll(meter: Meter, items: ListValue, wanted: ListValue): boolean {
  const has = membershipOf(meter, items);
  for (const value of wanted) if (!has(value)) return false;
  return true;
}

function intersects(meter: Meter, a: ListValue, b: ListValue): boolean {
  const has = membershipOf(meter, a);
  for (const value of b) if (has(value)) return true;
  return false;
}

const costs = (factor: number): Costs => ({
  isPaidFirst: true,
  cost: ([a = null, b = null]) => 1 + Math.floor(costSize(a) * costSize(b) * factor),
  estimate: ({ arguments: [a, b] }) => a && b && { cost: add(scale(multiply(a.size, b.size), factor), fixed(1)) },
});

const on =
  (decide: (meter: Meter, a: ListValue, b: ListValue) => boolean): Evaluate =>
  (meter, a, b) =>
    decide(meter, a as ListValue, b as ListValue);

/** Lists as sets: order and repetition do not matter. */
export const setLibrary: Library = {
  functions: [
    {
      name: "sets.contains",
      overloads: withCost(costs(1), overload("list_sets_contains_list", [list, list], boolType, on(containsAll))),
    },
    {
      name: "sets.intersects",
      overloads: withCost(costs(1), overload("list_sets_intersects_list", [list, list], boolType, on(intersects))),
    },
    {
      name: "sets.equivalent",
      overloads: withCost(
        costs(2),
        overload(
          "list_sets_equivalent_list",
          [list, list],
          boolType,
          on((meter, a, b) => containsAll(meter, a, b) && containsAll(meter, b, a)),
        ),
      ),
    },
  ],
};
