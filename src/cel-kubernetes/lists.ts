import { type Evaluate, type FunctionDeclaration, type Library, memberOverload } from "#cel/declare/function.ts";
import type { Meter } from "#cel/declare/meter.ts";
import {
  boolType,
  bytesType,
  doubleType,
  durationType,
  intType,
  listType,
  stringType,
  type Type,
  timestampType,
  typeParameter,
  uintType,
} from "#cel/types/type.ts";
import type { ListValue } from "#cel/values/collections.ts";
import { compareMany, equals } from "#cel/values/compare.ts";
import { durationOf } from "#cel/values/duration.ts";
import { int64, isInteger, uint64 } from "#cel/values/integer.ts";
import { CelError, Double, Duration, isError, noSuchOverload, Uint, type Value } from "#cel/values/value.ts";

const summable: Readonly<Record<string, Type>> = {
  int: intType,
  uint: uintType,
  double: doubleType,
  duration: durationType,
};
const comparable: Readonly<Record<string, Type>> = {
  ...summable,
  bool: boolType,
  timestamp: timestampType,
  string: stringType,
  bytes: bytesType,
};

// These loops count, because an iterator takes longer, most of all the first time.
const isSorted: Evaluate = (meter, list) => {
  const items = list as ListValue;
  let previous: Value | undefined;
  for (let index = 0; index < items.length; index++) {
    const item = items.at(index);
    const order = previous === undefined ? 0 : compareMany(meter, previous, item);
    if (isError(order)) return order;
    if (order > 0) return false;
    previous = item;
  }
  return true;
};

const zeros: Readonly<Record<string, Value>> = {
  int: 0,
  uint: new Uint(0),
  double: new Double(0),
  duration: new Duration(0),
};

function plus(a: Value, b: Value): Value {
  if (isInteger(a) && isInteger(b)) return int64.add(a, b);
  if (a instanceof Double && b instanceof Double) return new Double(a.value + b.value);
  if (a instanceof Duration && b instanceof Duration) return durationOf(int64.add(a.nanos, b.nanos));
  if (!(a instanceof Uint) || !(b instanceof Uint)) return noSuchOverload;
  const sum = uint64.add(a.value, b.value);
  return isError(sum) ? sum : new Uint(sum);
}

function sum(meter: Meter, list: ListValue, zero: Value): Value {
  let total = zero;
  for (const item of list) {
    meter.work(1);
    total = plus(total, item);
    if (isError(total)) return total;
  }
  return total;
}

function extreme(name: "min" | "max"): Evaluate {
  const empty = new CelError(`${name} called on empty list`);
  return (meter, list) => {
    const items = list as ListValue;
    let best: Value | undefined;
    for (let index = 0; index < items.length; index++) {
      const item = items.at(index);
      const order = best === undefined ? 0 : compareMany(meter, best, item);
      if (isError(order)) return order;
      if (best === undefined || (name === "min" ? order > 0 : order < 0)) best = item;
    }
    return best === undefined ? empty : best;
  };
}

function position(meter: Meter, list: ListValue, wanted: Value, step: 1 | -1): number {
  for (let index = step > 0 ? 0 : list.length - 1; index >= 0 && index < list.length; index += step) {
    meter.work(1);
    if (equals(meter, list.at(index), wanted)) return index;
  }
  return -1;
}

const each = (
  types: Readonly<Record<string, Type>>,
  name: string,
  make: (name: string, type: Type) => FunctionDeclaration["overloads"][number],
) => ({
  name,
  overloads: Object.entries(types).map(([kind, type]) => make(kind, type)),
});
const a = typeParameter("A");

export const kubernetesListLibrary: Library = {
  functions: [
    each(comparable, "isSorted", (kind, type) =>
      memberOverload(`list_${kind}_is_sorted_bool`, [listType(type)], boolType, isSorted),
    ),
    each(summable, "sum", (kind, type) =>
      memberOverload(`list_${kind}_sum_${kind}`, [listType(type)], type, (meter, list) =>
        sum(meter, list as ListValue, zeros[kind] ?? 0),
      ),
    ),
    each(comparable, "max", (kind, type) =>
      memberOverload(`list_${kind}_max_${kind}`, [listType(type)], type, extreme("max")),
    ),
    each(comparable, "min", (kind, type) =>
      memberOverload(`list_${kind}_min_${kind}`, [listType(type)], type, extreme("min")),
    ),
    {
      name: "indexOf",
      overloads: [
        memberOverload("list_a_index_of_int", [listType(a), a], intType, (meter, list, item) =>
          position(meter, list as ListValue, item as Value, 1),
        ),
      ],
    },
    {
      name: "lastIndexOf",
      overloads: [
        memberOverload("list_a_last_index_of_int", [listType(a), a], intType, (meter, list, item) =>
          position(meter, list as ListValue, item as Value, -1),
        ),
      ],
    },
  ],
};
