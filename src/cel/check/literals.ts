import type { Environment } from "../declare/environment.ts";
import type { LiteralCheck } from "../declare/function.ts";
import { childrenOf, type LiteralNode, type Node } from "../syntax/ast.ts";
import type { Issue } from "../syntax/source.ts";
import type { Value } from "../values/value.ts";

/** The work of checking all literals of an expression. An expression is compiled in one go, so it must not take long. */
const maxWork = 10_000;
const tooMuch = "the patterns of the expression are too large together";

/** Checks constant arguments that would otherwise fail each time the expression runs. */
export function checkLiterals({ literalChecks }: Environment, root: Node): Issue[] {
  const found = [...literalsToCheck(literalChecks, root)];
  const excess = firstOverLimit(found);
  if (excess) return [{ offset: excess.offset, message: tooMuch }];
  return found.flatMap(({ literal: { value, offset }, check }) => {
    const message = check.check(value);
    return message === undefined ? [] : [{ offset, message }];
  });
}

interface Found {
  readonly literal: LiteralNode;
  readonly check: LiteralCheck;
}

function* literalsToCheck(checks: readonly LiteralCheck[], root: Node): Iterable<Found> {
  if (checks.length === 0) return;
  const rest = [root];
  for (let node = rest.pop(); node; node = rest.pop()) {
    rest.push(...childrenOf(node));
    if (node.kind !== "call") continue;
    const { resolved, arguments: args } = node;
    for (const check of checks) {
      if (resolved?.name !== check.functionName || resolved.isMember !== check.isMember) continue;
      const literal = args[check.argumentIndex];
      if (literal?.kind === "literal") yield { literal, check };
    }
  }
}

/** A literal that is used again is no more work. */
function firstOverLimit(found: readonly Found[]): LiteralNode | undefined {
  const paid = new Set<Value>();
  let work = 0;
  for (const { literal, check } of found) {
    if (paid.has(literal.value)) continue;
    paid.add(literal.value);
    work += check.workFor?.(literal.value) ?? 0;
    if (work > maxWork) return literal;
  }
  return undefined;
}
