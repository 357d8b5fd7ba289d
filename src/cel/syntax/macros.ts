import type { Value } from "../values/value.ts";
import { accumulatorName, type LoopPurpose, type Node } from "./ast.ts";
import type { Builder, Macro } from "./macro.ts";

/** The macros of the language itself, with one variable. */
export const standardMacros: readonly Macro[] = [
  {
    name: "has",
    isMember: false,
    argumentCount: 1,
    expand(build, _, [argument]) {
      if (argument?.kind !== "select") return argument && build.fail(argument, "invalid argument to has() macro");
      return { ...argument, isTest: true, offset: build.offset };
    },
  },
  member("all", 2, (build, range, [variable, test]) => loop(build, range, nameOf(build, variable), all(build, test))),
  member("exists", 2, (build, range, [v, test]) => loop(build, range, nameOf(build, v), exists(build, test))),
  member("exists_one", 2, (build, range, [v, test]) => loop(build, range, nameOf(build, v), existsOne(build, test))),
  member("existsOne", 2, (build, range, [v, test]) => loop(build, range, nameOf(build, v), existsOne(build, test))),
  member("map", 2, (build, range, [v, to]) => loop(build, range, mapVariable(build, v), collect(build, undefined, to))),
  member("map", 3, (build, range, [v, test, to]) =>
    loop(build, range, mapVariable(build, v), collect(build, test, to)),
  ),
  member("filter", 2, (build, range, [v, test]) => {
    const name = mapVariable(build, v);
    return loop(build, range, name, collect(build, test, build.identifier(name)));
  }),
];

/** The same with two variables: the index or key, and the value. */
export const twoVariableMacros: readonly Macro[] = [
  member("all", 3, (build, range, [a, b, test]) => loop2(build, range, [a, b], all(build, test))),
  member("exists", 3, (build, range, [a, b, test]) => loop2(build, range, [a, b], exists(build, test))),
  member("exists_one", 3, (build, range, [a, b, test]) => loop2(build, range, [a, b], existsOne(build, test))),
  member("existsOne", 3, (build, range, [a, b, test]) => loop2(build, range, [a, b], existsOne(build, test))),
  ...[3, 4].flatMap((count) => [
    member("transformList", count, (build, range, args) => {
      const { variables, test, result } = transformArguments(args);
      return loop2(build, range, variables, collect(build, test, result));
    }),
    member("transformMap", count, (build, range, args) => {
      const { variables, test, result } = transformArguments(args);
      const key = build.identifier(nameOf(build, variables[0]));
      return loop2(build, range, variables, insert(build, test, [key, required(result)]));
    }),
    member("transformMapEntry", count, (build, range, args) => {
      const { variables, test, result } = transformArguments(args);
      return loop2(build, range, variables, insert(build, test, [required(result)]));
    }),
  ]),
];

type Expand = (build: Builder, target: Node, args: readonly Node[]) => Node | undefined;
type MaybeNode = Node | undefined;

export function member(name: string, argumentCount: number, expand: Expand): Macro {
  return {
    name,
    isMember: true,
    argumentCount,
    expand: (build, target, args) => (target ? expand(build, target, args) : undefined),
  };
}

/** The name of a variable that a macro declares. */
export function nameOf(build: Builder, node: MaybeNode, message = "argument must be a simple name"): string {
  if (node?.kind !== "identifier" || node.name.startsWith(".")) return build.fail(required(node), message);
  if (node.name === "__result__") build.fail(node, "iteration variable overwrites accumulator variable");
  return node.name;
}

/** A macro is only expanded with the number of arguments that it declares. */
function required(node: MaybeNode): Node {
  if (!node) throw new Error("a macro was expanded without its argument");
  return node;
}

const mapVariable = (build: Builder, node: MaybeNode): string => nameOf(build, node, "argument is not an identifier");

/** What distinguishes the loops: how they begin, go on, and end. */
interface Fold {
  readonly initial: Node;
  readonly condition: Node;
  readonly step: Node;
  readonly result: Node;
  readonly purpose?: LoopPurpose;
}

function loop(build: Builder, range: Node, variable: string, fold: Fold): Node {
  const { offset } = build;
  return {
    kind: "comprehension",
    range,
    variable,
    secondVariable: undefined,
    accumulator: accumulatorName,
    offset,
    ...fold,
  };
}

function loop2(build: Builder, range: Node, variables: readonly MaybeNode[], fold: Fold): Node {
  const [variable, secondVariable] = [nameOf(build, variables[0]), nameOf(build, variables[1])];
  if (variable === secondVariable) build.fail(required(variables[1]), `duplicate variable name: ${variable}`);
  const { offset } = build;
  return { kind: "comprehension", range, variable, secondVariable, accumulator: accumulatorName, offset, ...fold };
}

const accumulated = (build: Builder): Node => build.identifier(accumulatorName);
const literal = (build: Builder, value: Value): Node => build.literal(value);

function all(build: Builder, test: MaybeNode): Fold {
  return {
    initial: literal(build, true),
    condition: build.call("@not_strictly_false", accumulated(build)),
    step: build.call("_&&_", accumulated(build), required(test)),
    result: accumulated(build),
    purpose: { kind: "all", test: required(test) },
  };
}

function exists(build: Builder, test: MaybeNode): Fold {
  return {
    initial: literal(build, false),
    condition: build.call("@not_strictly_false", build.call("!_", accumulated(build))),
    step: build.call("_||_", accumulated(build), required(test)),
    result: accumulated(build),
    purpose: { kind: "exists", test: required(test) },
  };
}

function existsOne(build: Builder, test: MaybeNode): Fold {
  const more = build.call("_+_", accumulated(build), literal(build, 1));
  return {
    initial: literal(build, 0),
    condition: literal(build, true),
    step: build.call("_?_:_", required(test), more, accumulated(build)),
    result: build.call("_==_", accumulated(build), literal(build, 1)),
  };
}

function collect(build: Builder, test: MaybeNode, element: MaybeNode): Fold {
  const more = build.call("_+_", accumulated(build), build.list(required(element)));
  return {
    initial: build.list(),
    condition: literal(build, true),
    step: test ? build.call("_?_:_", test, more, accumulated(build)) : more,
    result: accumulated(build),
    purpose: { kind: "collect", test, element: required(element) },
  };
}

function insert(build: Builder, test: MaybeNode, entry: readonly Node[]): Fold {
  const more = build.call("cel.@mapInsert", accumulated(build), ...entry);
  return {
    initial: { kind: "map", entries: [], offset: build.offset },
    condition: literal(build, true),
    step: test ? build.call("_?_:_", test, more, accumulated(build)) : more,
    result: accumulated(build),
  };
}

function transformArguments(args: readonly Node[]): {
  variables: readonly MaybeNode[];
  test: MaybeNode;
  result: MaybeNode;
} {
  const [first, second, third, fourth] = args;
  const variables = [first, second];
  return fourth ? { variables, test: third, result: fourth } : { variables, test: undefined, result: third };
}
