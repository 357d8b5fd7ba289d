import type { Type } from "../types/type.ts";
import type { Value } from "../values/value.ts";

/** What the parser knows of every node, and what the checker adds. */
interface NodeBase {
  /** Where error messages point. */
  readonly offset: number;
  /** The type that the checker found. */
  type?: Type;
}

export interface LiteralNode extends NodeBase {
  readonly kind: "literal";
  readonly value: Value;
}

export interface IdentifierNode extends NodeBase {
  readonly kind: "identifier";
  /** With a leading dot if the name must not be looked up in the container. */
  readonly name: string;
  reference?: Reference;
}

export interface SelectNode extends NodeBase {
  readonly kind: "select";
  readonly operand: Node;
  readonly field: string;
  /** Whether this asks for presence: `has(a.b)`. */
  readonly isTest: boolean;
  /** Set if the whole path turned out to be one qualified name. */
  reference?: Reference;
}

export interface CallNode extends NodeBase {
  readonly kind: "call";
  readonly name: string;
  readonly target: Node | undefined;
  readonly arguments: readonly Node[];
  /** What the checker resolved: the function's full name, whether the target is an operand, and the overloads. */
  resolved?: { readonly name: string; readonly isMember: boolean; readonly overloads: readonly string[] };
}

export interface ListNode extends NodeBase {
  readonly kind: "list";
  readonly elements: readonly Node[];
  /** The indices of `[?a]`. */
  readonly optional: ReadonlySet<number>;
}

export interface MapEntry {
  readonly key: Node;
  readonly value: Node;
  readonly isOptional: boolean;
}

export interface MapNode extends NodeBase {
  readonly kind: "map";
  readonly entries: readonly MapEntry[];
}

export interface FieldEntry {
  readonly field: string;
  readonly offset: number;
  readonly value: Node;
  readonly isOptional: boolean;
}

export interface StructNode extends NodeBase {
  readonly kind: "struct";
  readonly typeName: string;
  readonly fields: readonly FieldEntry[];
}

/** A loop over `range`: every macro that iterates becomes one. */
export interface ComprehensionNode extends NodeBase {
  readonly kind: "comprehension";
  readonly range: Node;
  readonly variable: string;
  readonly secondVariable: string | undefined;
  readonly accumulator: string;
  readonly initial: Node;
  readonly condition: Node;
  readonly step: Node;
  readonly result: Node;
  /** What the loop is for, if it is one that can be run faster than step by step. Its nodes are parts of the step. */
  readonly purpose?: LoopPurpose | undefined;
}

export type LoopPurpose =
  | { readonly kind: "all" | "exists"; readonly test: Node }
  | { readonly kind: "collect"; readonly test: Node | undefined; readonly element: Node };

export type Node =
  | LiteralNode
  | IdentifierNode
  | SelectNode
  | CallNode
  | ListNode
  | MapNode
  | StructNode
  | ComprehensionNode;

/** What a name stands for: a variable, or a constant such as a type. */
export interface Reference {
  readonly name: string;
  readonly constant?: Value;
}

/** The accumulator of our macros. An expression cannot spell it. */
export const accumulatorName = "@result";

/** A deep copy, for macros that need an operand twice. `count` is told of every node. */
export function copyNode(node: Node, count: () => void): Node {
  count();
  const copy = (child: Node): Node => copyNode(child, count);
  switch (node.kind) {
    case "literal":
    case "identifier":
      return { ...node };
    case "select":
      return { ...node, operand: copy(node.operand) };
    case "call":
      return { ...node, target: node.target && copy(node.target), arguments: node.arguments.map(copy) };
    case "list":
      return { ...node, elements: node.elements.map(copy) };
    case "map":
      return { ...node, entries: node.entries.map((e) => ({ ...e, key: copy(e.key), value: copy(e.value) })) };
    case "struct":
      return { ...node, fields: node.fields.map((field) => ({ ...field, value: copy(field.value) })) };
    case "comprehension":
      return {
        ...node,
        range: copy(node.range),
        initial: copy(node.initial),
        condition: copy(node.condition),
        step: copy(node.step),
        result: copy(node.result),
        purpose: undefined,
      };
  }
}

/** `a.b.c` as a name, if the node is nothing but names. */
export function qualifiedName(node: Node): string | undefined {
  const parts: string[] = [];
  let at = node;
  while (at.kind === "select" && !at.isTest) {
    parts.unshift(at.field);
    at = at.operand;
  }
  return at.kind === "identifier" ? [at.name, ...parts].join(".") : undefined;
}

export function childrenOf(node: Node): readonly Node[] {
  switch (node.kind) {
    case "literal":
    case "identifier":
      return [];
    case "select":
      return [node.operand];
    case "call":
      return node.target ? [node.target, ...node.arguments] : node.arguments;
    case "list":
      return node.elements;
    case "map":
      return node.entries.flatMap(({ key, value }) => [key, value]);
    case "struct":
      return node.fields.map(({ value }) => value);
    case "comprehension":
      return [node.range, node.initial, node.condition, node.step, node.result];
  }
}

/** The longest paths of names in a tree that start with a variable of the expression, not with one of a loop. */
export function* namesIn(node: Node): Iterable<{ readonly name: string; readonly node: Node }> {
  const ofLoops = new Set<string>();
  const found: { readonly name: string; readonly node: Node }[] = [];
  const stack: Node[] = [node];
  for (let at = stack.pop(); at; at = stack.pop()) {
    const name = qualifiedName(at);
    if (name !== undefined) found.push({ name, node: at });
    else stack.push(...childrenOf(at).toReversed());
    if (at.kind !== "comprehension") continue;
    for (const variable of [at.variable, at.secondVariable, at.accumulator]) if (variable) ofLoops.add(variable);
  }
  for (const part of found) if (!ofLoops.has(part.name.split(".", 1)[0] ?? "")) yield part;
}

/** Whether a tree reads a field of a variable: `claims.email` or `claims.?email`. */
export function readsField(node: Node, variable: string, field: string): boolean {
  const isVariable = (at: Node | undefined) => at?.kind === "identifier" && at.name === variable;
  const stack: Node[] = [node];
  for (let at = stack.pop(); at; at = stack.pop()) {
    if (at.kind === "select" && at.field === field && isVariable(at.operand)) return true;
    if (at.kind === "call" && at.name === "_?._") {
      const [operand, name] = at.arguments;
      if (isVariable(operand) && name?.kind === "literal" && name.value === field) return true;
    }
    stack.push(...childrenOf(at));
  }
  return false;
}
