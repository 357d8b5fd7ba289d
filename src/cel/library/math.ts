import { type Evaluate, type FunctionDeclaration, type Library, overload } from "../declare/function.ts";
import type { Node } from "../syntax/ast.ts";
import type { Builder, Macro } from "../syntax/macro.ts";
import { boolType, doubleType, dynType, intType, listType, sameType, type Type, uintType } from "../types/type.ts";
import type { ListValue } from "../values/collections.ts";
import { compare } from "../values/compare.ts";
import { int64, isInteger, normalize } from "../values/integer.ts";
import { CelError, Double, type Integer, isError, noSuchOverload, Uint, type Value } from "../values/value.ts";

const numbers = [doubleType, intType, uintType];

/** `math.least` and `math.greatest`, of one number, two, or a list. */
function extreme(name: "@min" | "@max", isBetter: (order: number) => boolean): FunctionDeclaration {
  const better = (a: Value, b: Value): Value => {
    const order = compare(a, b);
    return isError(order) ? order : isBetter(order) ? a : b;
  };
  const ofList: Evaluate = (meter, list) => {
    const items = list as ListValue;
    if (items.length === 0) return new CelError(`math.${name}(list) argument must not be empty`);
    let best: Value = items.at(0);
    for (const item of items) {
      meter.work(1);
      best = isNumber(item) ? better(best, item) : noSuchOverload;
      if (isError(best)) return best;
    }
    return best;
  };
  return {
    name: `math.${name}`,
    overloads: [
      ...numbers.map((type) => overload(`math_${name}_${type.name}`, [type], type, (_, value) => value as Value)),
      ...numbers.flatMap((a) =>
        numbers.map((b) =>
          overload(`math_${name}_${a.name}_${b.name}`, [a, b], sameType(a, b) ? a : dynType, (_, x, y) =>
            better(x as Value, y as Value),
          ),
        ),
      ),
      ...numbers.map((type) => overload(`math_${name}_list_${type.name}`, [listType(type)], type, ofList)),
    ],
  };
}

const isNumber = (value: Value): boolean => isInteger(value) || value instanceof Uint || value instanceof Double;

function variadic(name: string, functionName: string): Macro[] {
  const counts = Array.from({ length: 33 }, (_, count) => count);
  return counts.map((argumentCount) => ({
    name,
    isMember: true,
    argumentCount,
    expand(build, target, args) {
      if (target?.kind !== "identifier" || target.name !== "math") return undefined;
      const [first] = args;
      if (!first) return build.fail(target, `math.${name}() requires at least one argument`);
      if (args.length === 1 && !isListOfNumbers(first) && isNoNumber(first)) {
        return build.fail(first, `math.${name}() invalid single argument value`);
      }
      for (const argument of args.length > 1 ? args : []) {
        if (isNoNumber(argument) || argument.kind === "list") {
          build.fail(argument, `simple literal arguments to math.${name}() must be numeric`);
        }
      }
      return args.length <= 2 ? build.call(functionName, ...args) : build.call(functionName, listOf(build, args));
    },
  }));
}

const listOf = (build: Builder, args: readonly Node[]): Node => build.list(...args);

function isNoNumber(node: Node): boolean {
  if (node.kind === "literal") return !isNumber(node.value);
  return node.kind === "list" || node.kind === "map" || node.kind === "struct";
}

function isListOfNumbers(node: Node): boolean {
  return node.kind === "list" && node.elements.length > 0 && !node.elements.some(isNoNumber);
}

const onDouble = (name: string, result: Type, compute: (value: number) => Value): FunctionDeclaration => ({
  name: `math.${name}`,
  overloads: [overload(`math_${name}_double`, [doubleType], result, (_, value) => compute((value as Double).value))],
});

/** Half away from zero. JavaScript rounds -1.5 to -1. */
const round = (value: number): number =>
  Number.isInteger(value) ? value : Math.sign(value) * Math.round(Math.abs(value));

const roots: FunctionDeclaration = {
  name: "math.sqrt",
  overloads: numbers.map((type) =>
    overload(
      `math_sqrt_${type.name}`,
      [type],
      doubleType,
      (_, value) => new Double(Math.sqrt(Number(isInteger(value) ? value : (value as Uint | Double).value))),
    ),
  ),
};

const signs: readonly FunctionDeclaration[] = [
  {
    name: "math.abs",
    overloads: [
      overload(
        "math_abs_double",
        [doubleType],
        doubleType,
        (_, value) => new Double(Math.abs((value as Double).value)),
      ),
      overload("math_abs_int", [intType], intType, (_, value) =>
        (value as Integer) < 0 ? int64.subtract(0, value as Integer) : (value as Integer),
      ),
      overload("math_abs_uint", [uintType], uintType, (_, value) => value as Value),
    ],
  },
  {
    name: "math.sign",
    overloads: [
      overload(
        "math_sign_double",
        [doubleType],
        doubleType,
        (_, value) => new Double(Math.sign((value as Double).value)),
      ),
      overload("math_sign_int", [intType], intType, (_, value) => Math.sign(Number(value))),
      overload(
        "math_sign_uint",
        [uintType],
        uintType,
        (_, value) => new Uint(Math.sign(Number((value as Uint).value))),
      ),
    ],
  },
];

function bits(name: string, compute: (a: bigint, b: bigint) => bigint): FunctionDeclaration {
  return {
    name: `math.${name}`,
    overloads: [
      overload(`math_${name}_int_int`, [intType, intType], intType, (_, a, b) =>
        normalize(BigInt.asIntN(64, compute(BigInt(a as Integer), BigInt(b as Integer)))),
      ),
      overload(
        `math_${name}_uint_uint`,
        [uintType, uintType],
        uintType,
        (_, a, b) =>
          new Uint(normalize(BigInt.asUintN(64, compute(BigInt((a as Uint).value), BigInt((b as Uint).value))))),
      ),
    ],
  };
}

function shift(name: string, compute: (value: bigint, by: bigint) => bigint): FunctionDeclaration {
  const safely = (by: Integer, run: (by: bigint) => Value): Value => {
    if (by < 0) return new CelError(`math.${name}() negative offset: ${by}`);
    return run(by >= 64 ? 64n : BigInt(by));
  };
  return {
    name: `math.${name}`,
    overloads: [
      overload(`math_${name}_int_int`, [intType, intType], intType, (_, a, by) =>
        safely(by as Integer, (count) =>
          normalize(BigInt.asIntN(64, compute(BigInt.asUintN(64, BigInt(a as Integer)), count))),
        ),
      ),
      overload(`math_${name}_uint_int`, [uintType, intType], uintType, (_, a, by) =>
        safely(
          by as Integer,
          (count) => new Uint(normalize(BigInt.asUintN(64, compute(BigInt((a as Uint).value), count)))),
        ),
      ),
    ],
  };
}

const not: FunctionDeclaration = {
  name: "math.bitNot",
  overloads: [
    overload("math_bitNot_int_int", [intType], intType, (_, value) => normalize(~BigInt(value as Integer))),
    overload(
      "math_bitNot_uint_uint",
      [uintType],
      uintType,
      (_, value) => new Uint(normalize(BigInt.asUintN(64, ~BigInt((value as Uint).value)))),
    ),
  ],
};

/** The functions of cel-go's extension for mathematics. */
export const mathLibrary: Library = {
  macros: [...variadic("least", "math.@min"), ...variadic("greatest", "math.@max")],
  functions: [
    extreme("@min", (order) => order <= 0),
    extreme("@max", (order) => order >= 0),
    onDouble("ceil", doubleType, (value) => new Double(Math.ceil(value))),
    onDouble("floor", doubleType, (value) => new Double(Math.floor(value))),
    onDouble("round", doubleType, (value) => new Double(round(value))),
    onDouble("trunc", doubleType, (value) => new Double(Math.trunc(value))),
    onDouble("isInf", boolType, (value) => Math.abs(value) === Number.POSITIVE_INFINITY),
    onDouble("isNaN", boolType, (value) => Number.isNaN(value)),
    onDouble("isFinite", boolType, (value) => Number.isFinite(value)),
    ...signs,
    roots,
    bits("bitAnd", (a, b) => a & b),
    bits("bitOr", (a, b) => a | b),
    bits("bitXor", (a, b) => a ^ b),
    shift("bitShiftLeft", (value, by) => value << by),
    shift("bitShiftRight", (value, by) => value >> by),
    not,
  ],
};
