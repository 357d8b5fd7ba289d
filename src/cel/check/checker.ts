import type { Environment } from "../declare/environment.ts";
import {
  type CallNode,
  type ComprehensionNode,
  type ListNode,
  type MapNode,
  type Node,
  qualifiedName,
  type SelectNode,
  type StructNode,
} from "../syntax/ast.ts";
import type { Issue } from "../syntax/source.ts";
import { assign, maxTypeSize, moreGeneral, Substitutions, settle, substitute } from "../types/assign.ts";
import {
  boolType,
  bytesType,
  doubleType,
  dynType,
  elementOf,
  errorType,
  intType,
  isDyn,
  isOptional,
  listType,
  mapType,
  nullType,
  optionalType,
  renderType,
  stringType,
  type Type,
  typeParameter,
  uintType,
  unwrapOptional,
} from "../types/type.ts";
import { Double, Uint, type Value } from "../values/value.ts";
import { resolveOverload } from "./overloads.ts";
import { Scope } from "./scope.ts";

/** Finds the type of every node, and notes it there. Without issues the tree may be planned. */
export function check(
  environment: Environment,
  root: Node,
): { readonly type: Type; readonly issues: readonly Issue[] } {
  const checker = new Checker(environment);
  const type = checker.check(root);
  checker.settle();
  return { type: settle(checker.substitutions, type), issues: checker.issues };
}

export class Checker {
  readonly substitutions = new Substitutions();
  readonly issues: Issue[] = [];
  readonly #environment: Environment;
  readonly #scope = new Scope();
  readonly #nodes: Node[] = [];
  #freeVariables = 0;

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  check(node: Node): Type {
    const type = this.#typeOf(node);
    const isTooLarge = type.size > maxTypeSize;
    if (isTooLarge) this.report(node.offset, `type has more than ${maxTypeSize} parts`);
    node.type = isTooLarge ? errorType : type;
    this.#nodes.push(node);
    return node.type;
  }

  /** Replaces type variables by what was found for them. */
  settle(): void {
    for (const node of this.#nodes) if (node.type) node.type = settle(this.substitutions, node.type);
  }

  report(offset: number, message: string): void {
    this.issues.push({ offset, message });
  }

  freshVariable(): Type {
    return typeParameter(`_var${this.#freeVariables++}`);
  }

  #typeOf(node: Node): Type {
    switch (node.kind) {
      case "literal":
        return typeOfLiteral(node.value);
      case "identifier":
        return this.#resolveName(node, node.name) ?? this.#undeclared(node.offset, node.name);
      case "select":
        return this.#select(node);
      case "call":
        return this.#call(node);
      case "list":
        return this.#list(node);
      case "map":
        return this.#map(node);
      case "struct":
        return this.#struct(node);
      case "comprehension":
        return this.#comprehension(node);
    }
  }

  #undeclared(offset: number, name: string): Type {
    this.report(offset, `undeclared reference to '${name}' (in container '${this.#environment.container}')`);
    return errorType;
  }

  #resolveName(node: Extract<Node, { reference?: unknown }>, name: string): Type | undefined {
    const local = this.#scope.find(name);
    if (local) {
      node.reference = { name };
      return local;
    }
    for (const candidate of this.#environment.candidates(name)) {
      const variable = this.#environment.variable(candidate);
      if (variable) {
        node.reference = { name: candidate };
        return variable;
      }
      const constant = this.#environment.constant(candidate);
      if (constant) {
        node.reference = { name: candidate, constant: constant.value };
        return constant.type;
      }
    }
    return undefined;
  }

  #select(node: SelectNode): Type {
    const path = node.isTest ? undefined : qualifiedName(node);
    // A variable of a loop hides whatever a longer name would mean.
    const isShadowed = path !== undefined && this.#scope.find(path.slice(0, path.indexOf("."))) !== undefined;
    const known = path === undefined || isShadowed ? undefined : this.#resolveName(node, path);
    if (known) return known;
    const type = this.#field(node, node.operand, node.field);
    return node.isTest ? boolType : substitute(this.substitutions, type);
  }

  #field(node: Node, operand: Node, field: string): Type {
    const operandType = substitute(this.substitutions, this.check(operand));
    const target = unwrapOptional(operandType);
    const type = this.#fieldOf(node, target, field);
    return isOptional(operandType) ? optionalType(type) : type;
  }

  #fieldOf(node: Node, target: Type, field: string): Type {
    switch (target.kind) {
      case "map":
        return elementOf(target, 1);
      case "struct": {
        const found = target.struct?.field(field);
        if (!found) this.report(node.offset, `undefined field '${field}'`);
        return found?.type ?? errorType;
      }
      case "parameter":
        assign(this.substitutions, dynType, target);
        return dynType;
      case "dyn":
      case "error":
        return dynType;
      default:
        this.report(node.offset, `type '${renderType(target)}' does not support field selection`);
        return dynType;
    }
  }

  #call(node: CallNode): Type {
    if (node.name === "_?._") return this.#optionalSelect(node);
    for (const argument of node.arguments) this.check(argument);
    if (!node.target) {
      const declaration = this.#function(node.name);
      if (!declaration) return this.#undeclared(node.offset, node.name);
      return resolveOverload(this, node, declaration, false);
    }
    const prefix = qualifiedName(node.target);
    const isShadowed = prefix !== undefined && this.#scope.find(prefix.split(".", 1)[0] ?? "") !== undefined;
    const namespaced = prefix === undefined || isShadowed ? undefined : this.#function(`${prefix}.${node.name}`);
    if (namespaced) return resolveOverload(this, node, namespaced, false);
    this.check(node.target);
    const declaration = this.#environment.function(node.name);
    if (!declaration) return this.#undeclared(node.offset, node.name);
    return resolveOverload(this, node, declaration, true);
  }

  #function(name: string) {
    for (const candidate of this.#environment.candidates(name)) {
      const found = this.#environment.function(candidate);
      if (found) return found;
    }
    return undefined;
  }

  #optionalSelect(node: CallNode): Type {
    const [operand, field] = node.arguments;
    if (!operand || field?.kind !== "literal" || typeof field.value !== "string") return errorType;
    this.check(field);
    node.resolved = { name: node.name, isMember: false, overloads: ["select_optional_field"] };
    const type = substitute(this.substitutions, this.#field(node, operand, field.value));
    return isOptional(type) ? type : optionalType(type);
  }

  #list({ elements, optional }: ListNode): Type {
    let type: Type | undefined;
    elements.forEach((element, index) => {
      const found = this.#elementType(element, optional.has(index));
      type = type ? this.#join(element, type, found) : found;
    });
    return listType(type ?? this.freshVariable());
  }

  #map({ entries }: MapNode): Type {
    let key: Type | undefined;
    let value: Type | undefined;
    for (const entry of entries) {
      const foundKey = this.check(entry.key);
      key = key ? this.#join(entry.key, key, foundKey) : foundKey;
      const foundValue = this.#elementType(entry.value, entry.isOptional);
      value = value ? this.#join(entry.value, value, foundValue) : foundValue;
    }
    return mapType(key ?? this.freshVariable(), value ?? this.freshVariable());
  }

  #elementType(node: Node, mustBeOptional: boolean): Type {
    const type = this.check(node);
    if (!mustBeOptional) return type;
    if (!isOptional(type) && !isDyn(type)) this.#mismatch(node, optionalType(type), type);
    return unwrapOptional(type);
  }

  /** The type of two elements. Elements that do not agree make a list of anything, or an error if that is forbidden. */
  #join(node: Node, previous: Type, current: Type): Type {
    if (assign(this.substitutions, previous, current)) return moreGeneral(previous, current);
    if (!this.#environment.uniformLiterals) return dynType;
    this.#mismatch(node, previous, current);
    return errorType;
  }

  #struct(node: StructNode): Type {
    const names = this.#environment.candidates(node.typeName);
    const type = names.map((name) => this.#environment.type(name)).find((found) => found !== undefined);
    if (!type) return this.#undeclared(node.offset, node.typeName);
    if (type.kind !== "struct" || !type.struct?.create) {
      this.report(node.offset, `'${type.name}' is not a message type`);
      return errorType;
    }
    for (const { field, value, offset, isOptional: mustBeOptional } of node.fields) {
      const found = this.#elementType(value, mustBeOptional);
      const declared = type.struct.field(field);
      if (!declared) this.report(offset, `undefined field '${field}'`);
      else if (!assign(this.substitutions, declared.type, found)) {
        const [expected, actual] = [renderType(declared.type), renderType(substitute(this.substitutions, found))];
        this.report(offset, `expected type of field '${field}' is '${expected}' but provided type is '${actual}'`);
      }
    }
    return type;
  }

  #comprehension(node: ComprehensionNode): Type {
    const rangeType = substitute(this.substitutions, this.check(node.range));
    const accumulated = this.check(node.initial);
    const variables = this.#loopVariables(node, rangeType);
    return this.#scope.within([[node.accumulator, accumulated]], () => {
      this.#scope.within(variables, () => {
        this.#expectType(node.condition, boolType);
        this.#expectType(node.step, accumulated);
      });
      return substitute(this.substitutions, this.check(node.result));
    });
  }

  #loopVariables(node: ComprehensionNode, range: Type): (readonly [string, Type])[] {
    const [first, second] = this.#iterationTypes(node, range);
    if (node.secondVariable === undefined) return [[node.variable, range.kind === "list" ? second : first]];
    return [
      [node.variable, first],
      [node.secondVariable, second],
    ];
  }

  /** The types of index or key, and of element or value. */
  #iterationTypes(node: ComprehensionNode, range: Type): readonly [Type, Type] {
    switch (range.kind) {
      case "list":
        return [intType, elementOf(range)];
      case "map":
        return [elementOf(range), elementOf(range, 1)];
      case "parameter":
      case "dyn":
      case "error":
        assign(this.substitutions, dynType, range);
        return [dynType, dynType];
      default: {
        const message = `expression of type '${renderType(range)}' cannot be range of a comprehension (must be list, map, or dynamic)`;
        this.report(node.range.offset, message);
        return [errorType, errorType];
      }
    }
  }

  #expectType(node: Node, expected: Type): void {
    const found = this.check(node);
    if (!assign(this.substitutions, expected, found)) this.#mismatch(node, expected, found);
  }

  #mismatch(node: Node, expected: Type, found: Type): void {
    const [wanted, actual] = [expected, found].map((type) => renderType(substitute(this.substitutions, type)));
    this.report(node.offset, `expected type '${wanted}' but found '${actual}'`);
  }
}

function typeOfLiteral(value: Value): Type {
  if (value === null) return nullType;
  if (typeof value === "boolean") return boolType;
  if (typeof value === "string") return stringType;
  if (value instanceof Double) return doubleType;
  if (value instanceof Uint) return uintType;
  return value instanceof Uint8Array ? bytesType : intType;
}
