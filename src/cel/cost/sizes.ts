import { fixed, type Size, type SizeHints, unknownSize } from "../declare/estimate.ts";
import type { ComprehensionNode, Node } from "../syntax/ast.ts";
import { dynType, elementOf, isOptional, type Type } from "../types/type.ts";
import { costSize } from "../values/size.ts";

/** The sizes of what is in a list or map. */
export interface EntrySize {
  readonly kind: "list" | "map";
  readonly key: Size;
  readonly value: Size;
}

interface Local {
  readonly path: readonly string[];
  readonly size: Size | undefined;
  readonly entries: EntrySize | undefined;
}

/** What is known about the sizes of values, and where in the data they come from. */
export class Sizes {
  readonly #hints: SizeHints | undefined;
  readonly #sizes = new Map<Node, Size>();
  readonly #entries = new Map<Node, EntrySize>();
  readonly #paths = new Map<Node, readonly string[]>();
  readonly #locals = new Map<string, Local[]>();

  constructor(hints: SizeHints | undefined) {
    this.#hints = hints;
  }

  local(name: string): Local | undefined {
    return this.#locals.get(name)?.at(-1);
  }

  path(node: Node): readonly string[] {
    const local = node.kind === "identifier" ? this.local(node.name) : undefined;
    return local?.path ?? this.#paths.get(node) ?? [];
  }

  setPath(node: Node, path: readonly string[]): void {
    this.#paths.set(node, path);
  }

  setSize(node: Node, size: Size | undefined): void {
    if (size) this.#sizes.set(node, size);
  }

  setEntries(node: Node, entries: EntrySize | undefined): void {
    if (entries) this.#entries.set(node, entries);
  }

  copy(to: Node, from: Node): void {
    this.setSize(to, this.size(from));
    this.setEntries(to, this.entries(from));
  }

  /** The size of a node, as far as it or the data tells. */
  size(node: Node): Size | undefined {
    const known = this.#sizes.get(node) ?? sizeOfLiteral(node);
    if (known) return known;
    const type = node.type ?? dynType;
    const hinted = this.#hints?.sizeOf(this.path(node), type);
    if (hinted) {
      this.#sizes.set(node, hinted);
      return hinted;
    }
    if (isScalar(type)) return fixed(1);
    return node.kind === "identifier" ? this.local(node.name)?.size : undefined;
  }

  sizeOrUnknown(node: Node): Size {
    return this.size(node) ?? unknownSize;
  }

  entries(node: Node): EntrySize | undefined {
    return this.#entries.get(node) ?? (node.kind === "identifier" ? this.local(node.name)?.entries : undefined);
  }

  pushBinding(name: string, value: Node): void {
    this.#push(name, { path: this.path(value), size: this.size(value), entries: this.entries(value) });
  }

  /** Adds the variables of a loop, and returns their names. */
  pushIteration({ range, variable, secondVariable }: ComprehensionNode): readonly string[] {
    const entries = this.entries(range);
    const isList = (entries?.kind ?? range.type?.kind) === "list";
    const path = this.path(range);
    const key: Local = { path: [...path, isList ? "@indices" : "@keys"], size: entries?.key, entries: undefined };
    const value: Local = { path: [...path, isList ? "@items" : "@values"], size: entries?.value, entries: undefined };
    if (secondVariable === undefined) {
      this.#push(variable, isList ? value : key);
      return [variable];
    }
    this.#push(variable, key);
    this.#push(secondVariable, value);
    return [variable, secondVariable];
  }

  pop(names: readonly string[]): void {
    for (const name of names) this.#locals.get(name)?.pop();
  }

  #push(name: string, local: Local): void {
    const stack = this.#locals.get(name);
    if (stack) stack.push(local);
    else this.#locals.set(name, [local]);
  }
}

function sizeOfLiteral(node: Node): Size | undefined {
  switch (node.kind) {
    case "literal":
      return fixed(costSize(node.value));
    case "list":
      return fixed(node.elements.length);
    case "map":
      return fixed(node.entries.length);
    default:
      return undefined;
  }
}

const scalars = new Set(["bool", "double", "duration", "int", "timestamp", "uint"]);
const isScalar = (type: Type): boolean => scalars.has(type.kind) || (isOptional(type) && isScalar(elementOf(type)));
