import type { Environment } from "../declare/environment.ts";
import {
  add,
  type CallEstimate,
  type EstimatedNode,
  fixed,
  multiply,
  type Range,
  type Size,
  type SizeHints,
  union,
  unknownSize,
} from "../declare/estimate.ts";
import type { EstimatedCall } from "../declare/function.ts";
import {
  accumulatorName,
  type CallNode,
  type ComprehensionNode,
  type ListNode,
  type MapNode,
  type Node,
} from "../syntax/ast.ts";
import { dynType, elementOf } from "../types/type.ts";
import { type EntrySize, Sizes } from "./sizes.ts";

/** What a checked expression may cost, from the least to the most. */
export function estimateCost(environment: Environment, root: Node, hints: SizeHints | undefined): Range {
  return new CostEstimator(environment, hints).cost(root);
}

const zero = fixed(0);
const one = fixed(1);
const listCost = fixed(10);
const mapCost = fixed(30);
const structCost = fixed(40);

class CostEstimator {
  readonly #environment: Environment;
  readonly #hints: SizeHints | undefined;
  readonly #sizes: Sizes;

  constructor(environment: Environment, hints: SizeHints | undefined) {
    this.#environment = environment;
    this.#hints = hints;
    this.#sizes = new Sizes(hints);
  }

  cost(node: Node): Range {
    switch (node.kind) {
      case "literal":
        return zero;
      case "identifier":
        return this.#identifier(node, node.reference?.name ?? node.name);
      case "select":
        if (node.reference) return this.#identifier(node, node.reference.name);
        return this.#select(node);
      case "call":
        return this.#call(node);
      case "list":
        return this.#list(node);
      case "map":
        return this.#map(node);
      case "struct":
        return this.#sum(
          node.fields.map(({ value }) => value),
          structCost,
        );
      case "comprehension":
        return isBinding(node) ? this.#binding(node) : this.#comprehension(node);
    }
  }

  #sum(nodes: readonly Node[], base: Range): Range {
    return nodes.reduce((sum, node) => add(sum, this.cost(node)), base);
  }

  #identifier(node: Node, name: string): Range {
    this.#sizes.setPath(node, this.#sizes.local(name)?.path ?? [name]);
    return one;
  }

  #select(node: Extract<Node, { kind: "select" }>): Range {
    const operand = this.cost(node.operand);
    if (node.isTest) return this.#environment.presenceTestCosts ? add(operand, one) : operand;
    this.#sizes.setPath(node, [...this.#sizes.path(node.operand), node.field]);
    const kind = node.operand.type?.kind;
    return kind === "map" || kind === "struct" || kind === "parameter" ? add(operand, one) : operand;
  }

  #list(node: ListNode): Range {
    const cost = this.#sum(node.elements, listCost);
    this.#sizes.setEntries(node, { kind: "list", key: one, value: this.#common(node.elements) });
    return cost;
  }

  #map(node: MapNode): Range {
    const [keys, values] = [node.entries.map(({ key }) => key), node.entries.map(({ value }) => value)];
    const cost = this.#sum(values, this.#sum(keys, mapCost));
    this.#sizes.setEntries(node, { kind: "map", key: this.#common(keys), value: this.#common(values) });
    return cost;
  }

  /** The size that covers all of these. */
  #common(nodes: readonly Node[]): Size {
    const sizes = nodes.map((node) => this.#sizes.sizeOrUnknown(node));
    return sizes.length === 0 ? zero : sizes.reduce(union);
  }

  #comprehension(node: ComprehensionNode): Range {
    const before = add(this.cost(node.range), this.cost(node.initial));
    const sizes = this.#sizes;
    sizes.pushBinding(node.accumulator, node.initial);
    const pushed = sizes.pushIteration(node);
    const each = add(this.cost(node.condition), this.cost(node.step));
    sizes.pop(pushed);
    const after = this.cost(node.result);
    sizes.pop([node.accumulator]);
    const count = sizes.sizeOrUnknown(node.range);
    if (node.initial.kind === "literal") sizes.setSize(node, sizes.size(node.initial));
    else if (node.initial.kind === "list" || node.initial.kind === "map") {
      sizes.setSize(node, count);
      sizes.setEntries(node, sizes.entries(node.step));
    }
    return add(add(before, after), multiply(count, each));
  }

  #binding(node: ComprehensionNode): Range {
    const before = add(this.cost(node.range), this.cost(node.initial));
    this.#sizes.pushBinding(node.accumulator, node.initial);
    const result = this.cost(node.result);
    this.#sizes.pop([node.accumulator]);
    this.#sizes.copy(node, node.result);
    return add(before, result);
  }

  #call(node: CallNode): Range {
    const [first] = node.arguments;
    if (node.resolved?.name === "dyn" && first) {
      const cost = add(one, this.cost(first));
      this.#sizes.copy(node, first);
      return cost;
    }
    const costs = node.arguments.map((argument) => this.cost(argument));
    const isMember = node.resolved?.isMember ?? false;
    const target = isMember && node.target ? this.cost(node.target) : zero;
    const call: EstimatedCall = {
      target: isMember && node.target ? this.#node(node.target) : undefined,
      arguments: node.arguments.map((argument) => this.#node(argument)),
    };
    const overloads = node.resolved?.overloads ?? [];
    if (overloads.length === 0) return zero;
    const estimates = overloads.map((overload) => this.#overload(node, overload, call, costs));
    this.#noteResult(node, overloads, estimates);
    return add(target, estimates.map(({ cost }) => cost).reduce(union));
  }

  /** The size of a result, and the path of an index into the data. */
  #noteResult(node: CallNode, overloads: readonly string[], estimates: readonly CallEstimate[]): void {
    const sizes = estimates.flatMap(({ size }) => size ?? []);
    let size: Size | undefined = sizes.length > 0 ? sizes.reduce(union) : undefined;
    const [operand] = node.arguments;
    for (const overload of overloads) {
      if (!operand || (overload !== "index_list" && overload !== "index_map")) continue;
      size = this.#sizes.entries(operand)?.value;
      this.#sizes.setPath(node, [...this.#sizes.path(operand), overload === "index_list" ? "@items" : "@values"]);
    }
    this.#sizes.setSize(node, size ?? this.#sizes.size(node));
  }

  #overload(node: CallNode, id: string, call: EstimatedCall, costs: readonly Range[]): CallEstimate {
    const [first = zero, second = zero, third = zero] = costs;
    const all = costs.reduce(add, zero);
    const name = node.resolved?.name ?? node.name;
    const declared = this.#environment.function(name)?.overloads.find((each) => each.id === id);
    const estimate = this.#environment.costOf(name)?.estimate?.(id, call) ?? declared?.estimate?.(call);
    if (id === "add_list" || id === "add_string" || id === "add_bytes") this.#joinEntries(node, node.arguments);
    if (estimate) return { ...estimate, cost: add(estimate.cost, all) };
    if (id === "logical_and" || id === "logical_or") return { cost: { min: first.min, max: all.max } };
    if (id === "conditional") {
      const [, yes, no] = node.arguments;
      this.#joinEntries(node, node.arguments.slice(1));
      const size = yes && no && union(this.#sizes.sizeOrUnknown(yes), this.#sizes.sizeOrUnknown(no));
      return { cost: add(first, union(second, third)), ...(size && { size }) };
    }
    return { cost: add(one, all) };
  }

  #joinEntries(node: Node, [left, right]: readonly Node[]): void {
    const [a, b] = [left && this.#sizes.entries(left), right && this.#sizes.entries(right)];
    const joined: EntrySize | undefined =
      a && b ? { kind: a.kind, key: union(a.key, b.key), value: union(a.value, b.value) } : undefined;
    this.#sizes.setEntries(node, joined);
  }

  #node(node: Node): EstimatedNode {
    const path = this.#sizes.path(node);
    const isAccumulated = path[0] === accumulatorName;
    return this.#estimated(node, isAccumulated ? [] : path, this.#sizes.sizeOrUnknown(node));
  }

  #estimated(node: Node, path: readonly string[], size: Size): EstimatedNode {
    const type = node.type ?? dynType;
    const hints = this.#hints;
    return {
      node,
      type,
      size,
      path,
      element() {
        const [parameter] = type.parameters;
        if (!parameter) return undefined;
        const below = path.length > 0 ? [...path, "@items"] : [];
        const elementSize = hints?.sizeOf(below, parameter) ?? unknownSize;
        return { type: elementOf(type), path: below, size: elementSize, element: () => undefined };
      },
    };
  }
}

/** A loop that never runs, for the sake of its accumulator: `cel.bind`. */
function isBinding({ range, condition, accumulator }: ComprehensionNode): boolean {
  const isEmpty = range.kind === "list" && range.elements.length === 0;
  const never = condition.kind === "literal" && condition.value === false;
  return isEmpty && never && accumulator !== accumulatorName;
}
