import { add, fixed, multiply, perCharacter, type Size, scale } from "../declare/estimate.ts";
import {
  type EstimatedCall,
  type Evaluate,
  type FunctionDeclaration,
  type Library,
  memberOverload,
  overload,
  withCost,
} from "../declare/function.ts";
import type { Meter } from "../declare/meter.ts";
import { member, standardMacros } from "../syntax/macros.ts";
import {
  boolType,
  bytesType,
  doubleType,
  durationType,
  dynType,
  intType,
  listType,
  stringType,
  timestampType,
  typeParameter,
  uintType,
} from "../types/type.ts";
import { ArrayList, type Key, keyOf, ListValue } from "../values/collections.ts";
import { compareMany, equals } from "../values/compare.ts";
import { costSize } from "../values/size.ts";
import { typeOf } from "../values/type-of.ts";
import { CelError, type Integer, isError, noSuchOverload, type Value } from "../values/value.ts";
import type { Costs } from "./costs.ts";
import { bind } from "./optionals.ts";

const list = listType(typeParameter("T"));
const comparable = [boolType, bytesType, doubleType, durationType, intType, stringType, timestampType, uintType];
const callCost = 1;
const listCost = 10;
/** Units of work to copy an item. */
const itemWork = 10;

function slice(meter: Meter, items: ListValue, start: Integer, end: Integer): Value {
  const what = `cannot slice(${start}, ${end})`;
  if (start < 0 || end < 0) return new CelError(`${what}, negative indexes not supported`);
  if (start > end) return new CelError(`${what}, start index must be less than or equal to end index`);
  if (items.length < end) return new CelError(`${what}, list is length ${items.length}`);
  meter.work(itemWork * (Number(end) - Number(start)));
  const part: Value[] = [];
  for (let index = Number(start); index < end; index++) part.push(items.at(index));
  return new ArrayList(part);
}

function flatten(meter: Meter, items: ListValue, depth: Integer): Value {
  if (depth < 0) return new CelError("level must be non-negative");
  const flat: Value[] = [];
  const visit = (part: ListValue, level: number): void => {
    for (const item of part) {
      meter.work(itemWork);
      if (item instanceof ListValue && level > 0) visit(item, level - 1);
      else flat.push(item);
    }
  };
  visit(items, Number(depth));
  return new ArrayList(flat);
}

/** Sorts items by the keys at the same places. */
function sortBy(meter: Meter, items: ListValue, keys: ListValue): Value {
  if (items.length === 0) return items;
  meter.work(2 * items.length);
  const pairs = Array.from(items, (item, index) => ({ item, key: keys.at(index) }));
  const [first] = pairs;
  const { name } = typeOf(first?.key ?? null);
  if (pairs.some(({ key }) => typeOf(key).name !== name)) return new CelError("list elements must have the same type");
  let error: CelError | undefined;
  pairs.sort((a, b) => {
    const order = compareMany(meter, a.key, b.key);
    if (!isError(order)) return order;
    error ??= order;
    return 0;
  });
  return error ?? new ArrayList(pairs.map(({ item }) => item));
}

/** Plain values are found in a set; the others are compared one by one. */
function distinct(meter: Meter, items: ListValue): Value {
  const seen = new Set<Key>();
  const others: Value[] = [];
  const unique: Value[] = [];
  for (const item of items) {
    meter.work(itemWork);
    meter.read(item);
    const key = keyOf(item);
    const isKnown = key === undefined ? others.some((other) => equals(meter, other, item)) : seen.has(key);
    if (isKnown) continue;
    if (key === undefined) others.push(item);
    else seen.add(key);
    unique.push(item);
  }
  return new ArrayList(unique);
}

function range(meter: Meter, count: Integer): Value {
  meter.work(Math.max(0, Number(count)));
  const items: Value[] = [];
  for (let index = 0; index < count; index++) items.push(index);
  return new ArrayList(items);
}

function reverse(meter: Meter, items: ListValue): Value {
  meter.work(itemWork * items.length);
  return new ArrayList([...items].reverse());
}

/** The cost of a call that makes a list. */
const tracked = (size: number, factor: number): number => Math.floor(size * factor) + callCost + listCost;
const estimated = (size: Size, factor: number) => ({
  cost: add(scale(size, factor), fixed(callCost + listCost)),
  size,
});

function literalInt({ arguments: args }: EstimatedCall, index: number, otherwise: number): number {
  const node = args[index]?.node;
  const value = node?.kind === "literal" ? node.value : undefined;
  return typeof value === "number" || typeof value === "bigint" ? Math.max(0, Number(value)) : otherwise;
}

const bySize: Costs = {
  cost: (_, result) => tracked(costSize(result), 1),
  estimate: ({ target }) => target && estimated(target.size, 1),
};
const slicing: Costs = {
  ...bySize,
  estimate: (call) =>
    call.target && estimated(fixed(literalInt(call, 1, call.target.size.max) - literalInt(call, 0, 0)), 1),
};
const ranging: Costs = {
  isPaidFirst: true,
  cost: ([count = 0]) => tracked(Math.max(0, Number(count)), 1),
  estimate: (call) => estimated(fixed(literalInt(call, 0, 2 ** 64)), 1),
};
const flattening: Costs = {
  cost: ([items = null, depth = 1]) => tracked(costSize(items), Number(depth)),
  estimate: (call) =>
    call.target && estimated(call.target.size, call.arguments.length === 0 ? 1 : literalInt(call, 0, 2 ** 64)),
};

function selfCompared(keysAt: 0 | 1): Costs {
  const factorOf = (kind: string | undefined): number => (kind === "string" || kind === "bytes" ? 2 + perCharacter : 2);
  return {
    isPaidFirst: true,
    cost: (args) => {
      const keys = args[keysAt] as ListValue;
      const factor = keys.length === 0 ? 2 : factorOf(typeOf(keys.at(0)).kind);
      return tracked(keys.length * keys.length, factor);
    },
    estimate: ({ target, arguments: [keys] }) => {
      const node = keysAt === 0 ? target : keys;
      return node && estimated(multiply(node.size, node.size), factorOf(node.type.parameters[0]?.kind));
    },
  };
}

const distinctCosts: Costs = {
  ...selfCompared(0),
  estimate: ({ target }) => target && estimated(multiply(target.size, target.size), 2),
};

const sort: Evaluate = (meter, items) => sortBy(meter, items as ListValue, items as ListValue);
const sortByKeys: Evaluate = (meter, items, keys) => {
  const [values, order] = [items as ListValue, keys as ListValue];
  return values.length === order.length ? sortBy(meter, values, order) : noSuchOverload;
};

const functions: readonly FunctionDeclaration[] = [
  {
    name: "slice",
    overloads: withCost(
      slicing,
      memberOverload("list_slice", [list, intType, intType], list, (meter, items, start, end) =>
        slice(meter, items as ListValue, start as Integer, end as Integer),
      ),
    ),
  },
  {
    name: "flatten",
    overloads: withCost(
      flattening,
      memberOverload("list_flatten", [listType(list)], list, (meter, items) => flatten(meter, items as ListValue, 1)),
      memberOverload("list_flatten_int", [listType(dynType), intType], listType(dynType), (meter, items, depth) =>
        flatten(meter, items as ListValue, depth as Integer),
      ),
    ),
  },
  {
    name: "sort",
    overloads: withCost(
      selfCompared(0),
      ...comparable.map((type) => memberOverload(`list_${type.name}_sort`, [listType(type)], listType(type), sort)),
    ),
  },
  {
    name: "@sortByAssociatedKeys",
    overloads: withCost(
      selfCompared(1),
      ...comparable.map((type) =>
        memberOverload(`list_${type.name}_sortByAssociatedKeys`, [list, listType(type)], list, sortByKeys),
      ),
    ),
  },
  {
    name: "lists.range",
    overloads: withCost(
      ranging,
      overload("lists_range", [intType], listType(intType), (meter, count) => range(meter, count as Integer)),
    ),
  },
  {
    name: "reverse",
    overloads: withCost(
      bySize,
      memberOverload("list_reverse", [list], list, (meter, items) => reverse(meter, items as ListValue)),
    ),
  },
  {
    name: "distinct",
    overloads: withCost(
      distinctCosts,
      memberOverload("list_distinct", [list], list, (meter, items) => distinct(meter, items as ListValue)),
    ),
  },
];

const sortedInput = "@__sortBy_input__";

/** The functions of cel-go's extension for lists. */
export const listLibrary: Library = {
  functions,
  macros: [
    member("sortBy", 2, (build, target, args) => {
      const map = standardMacros.find(({ name, argumentCount }) => name === "map" && argumentCount === 2);
      const keys = map?.expand(build, build.identifier(sortedInput), args);
      if (!keys) return undefined;
      const sorted = build.memberCall("@sortByAssociatedKeys", build.identifier(sortedInput), keys);
      return bind(build, sortedInput, target, sorted);
    }),
  ],
};
