import {
  type Evaluate,
  type FunctionDeclaration,
  type Library,
  memberOverload,
  overload,
} from "../declare/function.ts";
import type { Node } from "../syntax/ast.ts";
import type { Builder, Macro } from "../syntax/macro.ts";
import { member } from "../syntax/macros.ts";
import {
  boolType,
  dynType,
  intType,
  listType,
  mapType,
  optionalType,
  stringType,
  typeParameter,
} from "../types/type.ts";
import { ArrayList, ListValue, MapValue } from "../values/collections.ts";
import { isInteger } from "../values/integer.ts";
import {
  CelError,
  Double,
  Duration,
  noSuchOverload,
  noValue,
  OptionalValue,
  Uint,
  type Value,
} from "../values/value.ts";

const k = typeParameter("K");
const v = typeParameter("V");
const optional = optionalType(v);
const [list, map] = [listType(v), mapType(k, v)];

/** Evaluated by the planner. */
const planned: Evaluate = () => noSuchOverload;

function isZero(value: Value): boolean {
  if (value === null || value === false || value === "" || value === 0) return true;
  if (isInteger(value) || typeof value === "string" || typeof value === "boolean") return false;
  if (value instanceof Uint || value instanceof Double) return Number(value.value) === 0;
  if (value instanceof ListValue || value instanceof Uint8Array) return value.length === 0;
  if (value instanceof MapValue) return value.size === 0;
  if (value instanceof Duration) return value.nanos === 0;
  return value instanceof OptionalValue && value.value === undefined;
}

const unwrap: Evaluate = (meter, value) => {
  const items: Value[] = [];
  meter.work((value as ListValue).length);
  for (const item of value as ListValue) {
    if (!(item instanceof OptionalValue)) return noSuchOverload;
    if (item.value !== undefined) items.push(item.value);
  }
  return new ArrayList(items);
};

const end =
  (place: "first" | "last"): Evaluate =>
  (_, value) => {
    const { length } = value as ListValue;
    return length === 0 ? noValue : new OptionalValue((value as ListValue).at(place === "first" ? 0 : length - 1));
  };

const functions: readonly FunctionDeclaration[] = [
  {
    name: "optional.of",
    overloads: [overload("optional_of", [v], optional, (_, value) => new OptionalValue(value as Value))],
  },
  {
    name: "optional.ofNonZeroValue",
    overloads: [
      overload("optional_ofNonZeroValue", [v], optional, (_, value) =>
        isZero(value as Value) ? noValue : new OptionalValue(value as Value),
      ),
    ],
  },
  { name: "optional.none", overloads: [overload("optional_none", [], optional, () => noValue)] },
  {
    name: "value",
    overloads: [
      memberOverload("optional_value", [optional], v, (_, value) => {
        const inner = (value as OptionalValue).value;
        return inner === undefined ? new CelError("optional.none() dereference") : inner;
      }),
    ],
  },
  {
    name: "hasValue",
    overloads: [
      memberOverload(
        "optional_hasValue",
        [optional],
        boolType,
        (_, value) => (value as OptionalValue).value !== undefined,
      ),
    ],
  },
  { name: "or", overloads: [memberOverload("optional_or_optional", [optional, optional], optional, planned)] },
  { name: "orValue", overloads: [memberOverload("optional_orValue_value", [optional, v], v, planned)] },
  { name: "_?._", overloads: [overload("select_optional_field", [dynType, stringType], optional, planned)] },
  {
    name: "_[?_]",
    overloads: [
      overload("list_optindex_optional_int", [list, intType], optional, planned),
      overload("optional_list_optindex_optional_int", [optionalType(list), intType], optional, planned),
      overload("map_optindex_optional_value", [map, k], optional, planned),
      overload("optional_map_optindex_optional_value", [optionalType(map), k], optional, planned),
    ],
  },
  {
    name: "_[_]",
    overloads: [
      overload("optional_list_index_int", [optionalType(list), intType], optional, planned),
      overload("optional_map_index_value", [optionalType(map), k], optional, planned),
    ],
  },
];

const lists: readonly FunctionDeclaration[] = [
  { name: "first", overloads: [memberOverload("list_first", [list], optional, end("first"))] },
  { name: "last", overloads: [memberOverload("list_last", [list], optional, end("last"))] },
  { name: "optional.unwrap", overloads: [overload("optional_unwrap", [listType(optional)], list, unwrap)] },
  { name: "unwrapOpt", overloads: [memberOverload("optional_unwrapOpt", [listType(optional)], list, unwrap)] },
];

/** `cel.bind` as a node: a loop that never runs, whose accumulator is the variable. */
export function bind(build: Builder, name: string, value: Node, result: Node): Node {
  return {
    kind: "comprehension",
    range: build.list(),
    variable: "#unused",
    secondVariable: undefined,
    accumulator: name,
    initial: value,
    condition: build.literal(false),
    step: build.identifier(name),
    result,
    offset: build.offset,
  };
}

function mapOptional(name: "optMap" | "optFlatMap", wrap: (build: Builder, result: Node) => Node): Macro {
  return member(name, 2, (build, target, [variable, result]) => {
    const message = `${name}() variable name must be a simple identifier`;
    if (!result || variable?.kind !== "identifier") return build.fail(variable ?? target, message);
    const bound = bind(build, variable.name, build.memberCall("value", build.copy(target)), result);
    return build.call("_?_:_", build.memberCall("hasValue", target), wrap(build, bound), build.call("optional.none"));
  });
}

/** Values that may be absent: `a.?b.orValue(1)`. */
export const optionalLibrary: Library = {
  functions: [...functions, ...lists],
  macros: [
    mapOptional("optMap", (build, result) => build.call("optional.of", result)),
    mapOptional("optFlatMap", (_, r) => r),
  ],
  types: [optionalType(dynType)],
};

/** `cel.bind(name, value, expression)`. */
export const bindingLibrary: Library = {
  macros: [
    member("bind", 3, (build, target, [variable, value, result]) => {
      if (target.kind !== "identifier" || target.name !== "cel" || !value || !result) return undefined;
      if (variable?.kind !== "identifier") {
        return build.fail(variable ?? target, "cel.bind() variable names must be simple identifiers");
      }
      return bind(build, variable.name, value, result);
    }),
  ],
};
