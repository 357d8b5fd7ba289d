import { type Evaluate, type FunctionDeclaration, overload, withCost } from "../declare/function.ts";
import {
  boolType,
  bytesType,
  doubleType,
  durationType,
  intType,
  listType,
  mapType,
  stringType,
  type Type,
  timestampType,
  typeParameter,
  uintType,
} from "../types/type.ts";
import { GrowingList, joinLists, keyOf, type ListValue, type MapValue } from "../values/collections.ts";
import { compare, equals } from "../values/compare.ts";
import { durationOf } from "../values/duration.ts";
import { type Arithmetic, int64, uint64 } from "../values/integer.ts";
import { addDuration, between } from "../values/timestamp.ts";
import {
  CelError,
  Double,
  type Duration,
  type Integer,
  isError,
  type Timestamp,
  Uint,
  type Value,
} from "../values/value.ts";
import { comparison, concatenation, joining, membership } from "./costs.ts";

const a = typeParameter("A");
const b = typeParameter("B");
const declare = (name: string, ...overloads: FunctionDeclaration["overloads"]): FunctionDeclaration => ({
  name,
  overloads,
});

/** The planner evaluates these itself; the declarations are for the checker. */
const planned: Evaluate = () => new CelError("no such overload");

const logic: readonly FunctionDeclaration[] = [
  declare("_&&_", overload("logical_and", [boolType, boolType], boolType, planned)),
  declare("_||_", overload("logical_or", [boolType, boolType], boolType, planned)),
  declare("_?_:_", overload("conditional", [boolType, a, a], a, planned)),
  declare("@not_strictly_false", overload("not_strictly_false", [boolType], boolType, planned)),
  declare(
    "!_",
    overload("logical_not", [boolType], boolType, (_, value) => !value),
  ),
];

const equality: readonly FunctionDeclaration[] = [
  declare(
    "_==_",
    ...withCost(
      comparison,
      overload("equals", [a, a], boolType, (meter, x, y) => equals(meter, x, y)),
    ),
  ),
  declare(
    "_!=_",
    ...withCost(
      comparison,
      overload("not_equals", [a, a], boolType, (meter, x, y) => !equals(meter, x, y)),
    ),
  ),
];

const numbers = { int64: intType, uint64: uintType, double: doubleType } as const;
const ordered: Readonly<Record<string, Type>> = { bool: boolType, timestamp: timestampType, duration: durationType };

/** The overloads of one order operator: within a type, and between the three kinds of numbers. */
function order(name: string, id: string, evaluate: Evaluate): FunctionDeclaration {
  const within = Object.entries(ordered).map(([kind, type]) =>
    overload(`${id}_${kind}`, [type, type], boolType, evaluate),
  );
  const between = Object.entries(numbers).flatMap(([left, leftType]) =>
    Object.entries(numbers).map(([right, rightType]) =>
      overload(left === right ? `${id}_${left}` : `${id}_${left}_${right}`, [leftType, rightType], boolType, evaluate),
    ),
  );
  const texts = withCost(
    comparison,
    overload(`${id}_string`, [stringType, stringType], boolType, evaluate),
    overload(`${id}_bytes`, [bytesType, bytesType], boolType, evaluate),
  );
  return declare(name, ...within, ...between, ...texts);
}

/** Long loops compare numbers, which must not take a call more. */
const orders: readonly FunctionDeclaration[] = [
  order("_<_", "less", (_, x, y) => {
    if (typeof x === "number" && typeof y === "number") return x < y;
    const result = compare(x, y);
    return isError(result) ? result : result < 0;
  }),
  order("_<=_", "less_equals", (_, x, y) => {
    if (typeof x === "number" && typeof y === "number") return x <= y;
    const result = compare(x, y);
    return isError(result) ? result : result <= 0;
  }),
  order("_>_", "greater", (_, x, y) => {
    if (typeof x === "number" && typeof y === "number") return x > y;
    const result = compare(x, y);
    return isError(result) ? result : result > 0;
  }),
  order("_>=_", "greater_equals", (_, x, y) => {
    if (typeof x === "number" && typeof y === "number") return x >= y;
    const result = compare(x, y);
    return isError(result) ? result : result >= 0;
  }),
];

type Operation = Exclude<keyof Arithmetic, "check">;

/** Units of work to calculate with numbers that are objects. */
const bigWork = 16;

const addInts: Evaluate = (meter, x, y) => {
  if (typeof x === "number" && typeof y === "number") {
    const sum = x + y;
    if (Number.isSafeInteger(sum)) return sum;
  }
  meter.work(bigWork);
  return int64.add(x as Integer, y as Integer);
};
const onInts = (operation: Operation): Evaluate => {
  if (operation === "add") return addInts;
  const compute = int64[operation];
  return (meter, x, y) => {
    if (typeof x !== "number" || typeof y !== "number") meter.work(bigWork);
    return compute(x as Integer, y as Integer);
  };
};
const onUints = (operation: Operation): Evaluate => {
  const compute = uint64[operation];
  return (meter, x, y) => {
    meter.work(bigWork);
    const result = compute((x as Uint).value, (y as Uint).value);
    return isError(result) ? result : new Uint(result);
  };
};
const onDoubles =
  (compute: (x: number, y: number) => number): Evaluate =>
  (meter, x, y) => {
    meter.work(5);
    return new Double(compute((x as Double).value, (y as Double).value));
  };
const onDurations =
  (operation: "add" | "subtract"): Evaluate =>
  (_, x, y) =>
    durationOf(int64[operation]((x as Duration).nanos, (y as Duration).nanos));

function arithmetic(id: string, operation: Operation, double?: (x: number, y: number) => number) {
  const overloads = [
    overload(`${id}_int64`, [intType, intType], intType, onInts(operation)),
    overload(`${id}_uint64`, [uintType, uintType], uintType, onUints(operation)),
  ];
  if (double) overloads.push(overload(`${id}_double`, [doubleType, doubleType], doubleType, onDoubles(double)));
  return overloads;
}

const addBytes: Evaluate = (meter, x, y) => {
  const parts = [x as Uint8Array, y as Uint8Array];
  meter.allocate(parts.reduce((sum, { length }) => sum + length, 0));
  return Buffer.concat(parts);
};

/** Joining two texts takes as long as writing so many characters more. */
const joinWork = 350;

const addStrings: Evaluate = (meter, x, y) => {
  meter.allocate((x as string).length + (y as string).length + joinWork);
  return (x as string) + (y as string);
};

/** In a loop the left list is the loop's own, and grows. Elsewhere neither list changes. */
const addLists: Evaluate = (meter, x, y) => {
  const [left, right] = [x as ListValue, y as ListValue];
  if (left.plus) return left.plus(right, (one, other) => equals(meter, one, other));
  if (left instanceof GrowingList && right.length === 1) {
    left.items.push(right.at(0));
    return left;
  }
  return joinLists(left, right);
};

const time = timestampType;
const span = durationType;
const calculations: readonly FunctionDeclaration[] = [
  declare(
    "_+_",
    ...arithmetic("add", "add", (x, y) => x + y),
    ...withCost(concatenation, overload("add_string", [stringType, stringType], stringType, addStrings)),
    ...withCost(concatenation, overload("add_bytes", [bytesType, bytesType], bytesType, addBytes)),
    ...withCost(joining, overload("add_list", [listType(a), listType(a)], listType(a), addLists)),
    overload("add_timestamp_duration", [time, span], time, (_, x, y) => addDuration(x as Timestamp, y as Duration)),
    overload("add_duration_timestamp", [span, time], time, (_, x, y) => addDuration(y as Timestamp, x as Duration)),
    overload("add_duration_duration", [span, span], span, onDurations("add")),
  ),
  declare(
    "_-_",
    ...arithmetic("subtract", "subtract", (x, y) => x - y),
    overload("subtract_timestamp_timestamp", [time, time], span, (_, x, y) => between(x as Timestamp, y as Timestamp)),
    overload("subtract_timestamp_duration", [time, span], time, (_, x, y) =>
      addDuration(x as Timestamp, y as Duration, -1n),
    ),
    overload("subtract_duration_duration", [span, span], span, onDurations("subtract")),
  ),
  declare("_*_", ...arithmetic("multiply", "multiply", (x, y) => x * y)),
  declare("_/_", ...arithmetic("divide", "divide", (x, y) => x / y)),
  declare("_%_", ...arithmetic("modulo", "remainder")),
  declare(
    "-_",
    overload("negate_int64", [intType], intType, (_, x) => int64.subtract(0, x as Integer)),
    overload("negate_double", [doubleType], doubleType, (_, x) => new Double(-(x as Double).value)),
  ),
];

export function contains(meter: Parameters<Evaluate>[0], list: ListValue, value: Value): boolean {
  for (const element of list) {
    meter.work(1);
    if (equals(meter, value, element)) return true;
  }
  return false;
}

const access: readonly FunctionDeclaration[] = [
  declare(
    "_[_]",
    overload("index_list", [listType(a), intType], a, planned),
    overload("index_map", [mapType(a, b), a], b, planned),
  ),
  declare(
    "@in",
    ...withCost(
      membership,
      overload("in_list", [a, listType(a)], boolType, (meter, x, list) => contains(meter, list as ListValue, x)),
    ),
    overload("in_map", [a, mapType(a, b)], boolType, (meter, key, map) => {
      meter.work(6);
      meter.read(key);
      return keyOf(key) !== undefined && (map as MapValue).has(key);
    }),
  ),
];

export const operators: readonly FunctionDeclaration[] = [...logic, ...equality, ...orders, ...calculations, ...access];
