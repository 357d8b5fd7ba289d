import { childrenOf, type Node } from "../syntax/ast.ts";
import type { Issue } from "../syntax/source.ts";
import { dynType, renderType, sameType, type Type, unwrapOptional } from "../types/type.ts";

/** Reports literals with elements of different types. The arguments of `format` may differ, at any depth. */
export function checkUniform(root: Node): Issue[] {
  const issues: Issue[] = [];
  const rest = [root];
  for (let node = rest.pop(); node; node = rest.pop()) {
    if (node.kind === "call" && node.name === "format" && node.target) {
      rest.push(node.target);
      continue;
    }
    rest.push(...childrenOf(node));
    issues.push(...mismatchesIn(node));
  }
  return issues;
}

function mismatchesIn(node: Node): Issue[] {
  if (node.kind === "list") {
    const [first] = mismatches(
      node.elements.map((element, index) => ({ node: element, isOptional: node.optional.has(index) })),
    );
    return first ? [first] : [];
  }
  if (node.kind !== "map") return [];
  const keys = node.entries.map(({ key }) => ({ node: key, isOptional: false }));
  const values = node.entries.map(({ value, isOptional }) => ({ node: value, isOptional }));
  return [...mismatches(keys), ...mismatches(values)];
}

/** Everything that has another type than the first. */
function mismatches(elements: readonly { readonly node: Node; readonly isOptional: boolean }[]): Issue[] {
  const typeOf = ({ node, isOptional }: (typeof elements)[number]): Type =>
    isOptional ? unwrapOptional(node.type ?? dynType) : (node.type ?? dynType);
  const [first, ...others] = elements;
  if (!first) return [];
  const expected = typeOf(first);
  return others
    .filter((element) => !sameType(expected, typeOf(element)))
    .map((element) => ({
      offset: element.node.offset,
      message: `expected type '${renderType(expected)}' but found '${renderType(typeOf(element))}'`,
    }));
}
