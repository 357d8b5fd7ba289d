import type { Environment } from "../declare/environment.ts";
import { childrenOf, type Node } from "../syntax/ast.ts";
import type { Issue } from "../syntax/source.ts";

/** Checks constant arguments that would otherwise fail each time the expression runs. */
export function checkLiterals({ literalChecks }: Environment, root: Node): Issue[] {
  const issues: Issue[] = [];
  if (literalChecks.length === 0) return issues;
  const rest = [root];
  for (let node = rest.pop(); node; node = rest.pop()) {
    rest.push(...childrenOf(node));
    if (node.kind !== "call") continue;
    const { resolved, arguments: args } = node;
    for (const { functionName, argumentIndex, isMember, check } of literalChecks) {
      if (resolved?.name !== functionName || resolved.isMember !== isMember) continue;
      const argument = args[argumentIndex];
      const message = argument?.kind === "literal" ? check(argument.value) : undefined;
      if (argument && message !== undefined) issues.push({ offset: argument.offset, message });
    }
  }
  return issues;
}
