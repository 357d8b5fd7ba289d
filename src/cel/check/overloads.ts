import type { FunctionDeclaration, Overload } from "../declare/function.ts";
import type { CallNode } from "../syntax/ast.ts";
import { assign, assignAll, instantiate, settle, substitute } from "../types/assign.ts";
import {
  boolType,
  dynType,
  errorType,
  isDyn,
  renderArguments,
  renderType,
  sameType,
  type Type,
} from "../types/type.ts";
import type { Checker } from "./checker.ts";

/** Notes at a call which overloads its arguments fit, and returns the type of the result. */
export function resolveOverload(
  checker: Checker,
  node: CallNode,
  declaration: FunctionDeclaration,
  isMember: boolean,
): Type {
  const operands = isMember && node.target ? [node.target, ...node.arguments] : node.arguments;
  const types = operands.map((operand) => operand.type ?? errorType);
  if (declaration.name === "_&&_" || declaration.name === "_||_") return resolveLogical(checker, node, declaration);

  const fitting: string[] = [];
  let result: Type | undefined;
  for (const overload of declaration.overloads) {
    if ((overload.isMember ?? false) !== isMember || overload.parameters.length !== types.length) continue;
    const found = tryOverload(checker, overload, types);
    if (!found) continue;
    fitting.push(overload.id);
    if (!result) result = found;
    else if (!isDyn(result) && !sameType(result, found)) result = dynType;
  }
  node.resolved = { name: declaration.name, isMember, overloads: fitting };
  if (result) return result;
  const shown = renderArguments(
    types.map((type) => settle(checker.substitutions, type)),
    isMember,
  );
  checker.report(node.offset, `found no matching overload for '${declaration.name}' applied to '${shown}'`);
  return errorType;
}

function tryOverload(checker: Checker, overload: Overload, types: readonly Type[]): Type | undefined {
  const { parameters, result } = overload;
  if (!isGeneric(overload)) return assignAll(checker.substitutions, types, parameters) ? result : undefined;
  const variables = new Map<string, Type>();
  const fresh = (name: string): Type => {
    const variable = variables.get(name) ?? checker.freshVariable();
    variables.set(name, variable);
    return variable;
  };
  const expected = parameters.map((parameter) => instantiate(parameter, fresh));
  if (!assignAll(checker.substitutions, types, expected)) return undefined;
  return substitute(checker.substitutions, instantiate(result, fresh));
}

const generic = new WeakMap<Overload, boolean>();

/** Whether an overload has type variables, which every call has to take anew. */
function isGeneric(overload: Overload): boolean {
  const known = generic.get(overload);
  if (known !== undefined) return known;
  const found = [...overload.parameters, overload.result].some(hasVariable);
  generic.set(overload, found);
  return found;
}

const hasVariable = (type: Type): boolean => type.kind === "parameter" || type.parameters.some(hasVariable);

function resolveLogical(checker: Checker, node: CallNode, { name, overloads }: FunctionDeclaration): Type {
  node.resolved = { name, isMember: false, overloads: overloads.map(({ id }) => id) };
  let type = boolType;
  for (const argument of node.arguments) {
    const found = argument.type ?? errorType;
    if (assign(checker.substitutions, found, boolType)) continue;
    checker.report(
      argument.offset,
      `expected type 'bool' but found '${renderType(settle(checker.substitutions, found))}'`,
    );
    type = errorType;
  }
  return type;
}
