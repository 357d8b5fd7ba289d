import { isObject } from "../data/json-object.ts";
import { isTrue, plainFunction, valuesIn } from "./functions.ts";
import { operate } from "./operators.ts";
import { type Node, parseJq } from "./parse.ts";
import { JqFault, JqOverBudget, type Json, Meter, typeOf } from "./values.ts";

export { JqError } from "./tokens.ts";
export { JqFault, JqOverBudget, type Json } from "./values.ts";

/** An expression of jq that is ready to run. */
export interface JqQuery {
  /** All values that it gives. Throws a JqFault if a value has the wrong type or there is too much to do. */
  run(input: Json): readonly Json[];
}

/** What one evaluation may cost; some milliseconds at most. */
const maxSteps = 10_000;

/**
 * Reads an expression in the part of jq that selects values: paths, `[]`, slices, `|`, `,`, `//`, comparisons, `and`, `or`,
 * arithmetic, `if`, `[…]`, and functions. Throws a JqError for everything else.
 */
export function compileJq(source: string): JqQuery {
  const node = parseJq(source);
  return {
    run: (input) => [...evaluate(node, input, new Meter(maxSteps))],
  };
}

type Values = Generator<Json, void>;

function* evaluate(node: Node, input: Json, meter: Meter): Values {
  meter.spend(1);
  switch (node.type) {
    case "identity":
      yield input;
      return;
    case "literal":
      yield node.value;
      return;
    case "index":
      for (const of of evaluate(node.of, input, meter)) {
        for (const key of evaluate(node.key, input, meter)) yield memberOf(of, key);
      }
      return;
    case "slice":
      yield* sliced(node, input, meter);
      return;
    case "each":
      for (const of of evaluate(node.of, input, meter)) yield* spent(valuesIn(of), meter);
      return;
    case "list": {
      const values = node.of ? [...evaluate(node.of, input, meter)] : [];
      yield values;
      return;
    }
    default:
      yield* evaluateControl(node, input, meter);
  }
}

function* evaluateControl(node: Node, input: Json, meter: Meter): Values {
  switch (node.type) {
    case "optional":
      yield* untilFault(evaluate(node.of, input, meter));
      return;
    case "if":
      for (const condition of evaluate(node.condition, input, meter)) {
        yield* evaluate(isTrue(condition) ? node.then : node.otherwise, input, meter);
      }
      return;
    case "binary":
      yield* binary(node, input, meter);
      return;
    case "call":
      yield* called(node, input, meter);
  }
}

function* spent(values: readonly Json[], meter: Meter): Values {
  for (const value of values) {
    meter.spend(1);
    yield value;
  }
}

/** The values before the first fault. */
function* untilFault(values: Values): Values {
  try {
    yield* values;
  } catch (error) {
    if (!(error instanceof JqFault) || error instanceof JqOverBudget) throw error;
  }
}

function memberOf(of: Json, key: Json): Json {
  if (of === null && (typeof key === "string" || typeof key === "number")) return null;
  if (isObject(of) && typeof key === "string") return Object.hasOwn(of, key) ? (of[key] as Json) : null;
  if (Array.isArray(of) && typeof key === "number") return (of as readonly Json[]).at(Math.floor(key)) ?? null;
  throw new JqFault(`${typeOf(of)} has no member ${JSON.stringify(key)}`);
}

function* sliced(node: Node & { type: "slice" }, input: Json, meter: Meter): Values {
  for (const of of evaluate(node.of, input, meter)) {
    for (const to of node.to ? evaluate(node.to, input, meter) : [null]) {
      for (const from of node.from ? evaluate(node.from, input, meter) : [null]) {
        if (of === null) yield null;
        else if (typeof of === "string" || Array.isArray(of)) yield of.slice(bound(from), bound(to));
        else throw new JqFault(`${typeOf(of)} has no slices`);
      }
    }
  }
}

function bound(value: Json): number | undefined {
  if (value === null) return undefined;
  if (typeof value === "number") return Math.floor(value);
  throw new JqFault(`a slice cannot begin or end at ${typeOf(value)}`);
}

function* binary({ sign, left, right }: Node & { type: "binary" }, input: Json, meter: Meter): Values {
  switch (sign) {
    case "|":
      for (const value of evaluate(left, input, meter)) yield* evaluate(right, value, meter);
      return;
    case ",":
      yield* evaluate(left, input, meter);
      yield* evaluate(right, input, meter);
      return;
    case "//": {
      const found = [...untilFault(evaluate(left, input, meter))].filter(isTrue);
      yield* found.length > 0 ? found : evaluate(right, input, meter);
      return;
    }
    case "and":
    case "or":
      for (const first of evaluate(left, input, meter)) {
        if (isTrue(first) === (sign === "or")) yield sign === "or";
        else for (const second of evaluate(right, input, meter)) yield isTrue(second);
      }
      return;
    default:
      for (const second of evaluate(right, input, meter)) {
        for (const first of evaluate(left, input, meter)) yield operate(sign, first, second, meter);
      }
  }
}

function* called({ name, parameters }: Node & { type: "call" }, input: Json, meter: Meter): Values {
  const [first] = parameters;
  const plain = plainFunction(name, parameters.length);
  if (plain && !first) {
    meter.read(input);
    if (Array.isArray(input)) meter.spend(input.length);
    yield plain(input, [], meter);
  } else if (plain && first) {
    for (const value of evaluate(first, input, meter)) {
      meter.read(input, value);
      yield plain(input, [value], meter);
    }
  } else yield* special(name, first ?? { type: "identity" }, { input, meter });
}

function* special(name: string, parameter: Node, { input, meter }: { input: Json; meter: Meter }): Values {
  switch (name) {
    case "select":
      for (const condition of evaluate(parameter, input, meter)) if (isTrue(condition)) yield input;
      return;
    case "map": {
      const mapped = valuesIn(input).flatMap((value) => [...evaluate(parameter, value, meter)]);
      yield mapped;
      return;
    }
    case "any":
      yield valuesIn(input).some((value) => evaluate(parameter, value, meter).some(isTrue));
      return;
    case "all":
      yield valuesIn(input).every((value) => evaluate(parameter, value, meter).every(isTrue));
      return;
    case "first":
      yield* evaluate(parameter, input, meter).take(1);
      return;
    case "last":
      yield* [...evaluate(parameter, input, meter)].slice(-1);
      return;
    case "values":
      if (input !== null) yield input;
      return;
    case "recurse":
      yield* everything(input, meter);
  }
}

function* everything(value: Json, meter: Meter): Values {
  meter.spend(1);
  yield value;
  if (typeof value !== "object" || value === null) return;
  for (const inner of valuesIn(value)) yield* everything(inner, meter);
}
