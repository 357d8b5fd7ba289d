import { type MatchCondition } from "#api/admissionregistration/match-condition.ts";
import { type ParamKind } from "#api/admissionregistration/params.ts";
import { type Variable } from "#api/admissionregistration/variable.ts";
import { inSlices, type Steps } from "#lib/async/turns.ts";
import { type Expression, PolicyCompiler } from "../expressions/compile-expression.ts";

/** What the expressions of all policies have in common. */
export interface CompiledCommon {
  readonly conditions: readonly Expression[];
  readonly variables: ReadonlyMap<string, Expression>;
}

interface CommonSpec {
  readonly paramKind?: ParamKind;
  readonly variables?: readonly Variable[];
  readonly matchConditions?: readonly MatchCondition[];
}

/** One expression at a time, because a policy may have as many as fit into a request. */
export function* compileCommon(spec: CommonSpec): Steps<CompiledCommon & { readonly compiler: PolicyCompiler }> {
  const compiler = new PolicyCompiler({ hasParams: spec.paramKind !== undefined });
  for (const { name, expression } of spec.variables ?? []) yield void compiler.addVariable(name, expression);
  const conditions: Expression[] = [];
  for (const { expression } of spec.matchConditions ?? []) {
    conditions.push(compiler.compile(expression, "bool"));
    yield;
  }
  return { compiler, conditions, variables: compiler.variables };
}

/** Compiles the expressions of each policy once. What does not compile is a fault of that expression alone. */
export function compileOnce<P extends object, C>(compile: (policy: P) => Steps<C>): (policy: P) => Promise<C> {
  const compiled = new WeakMap<P, Promise<C>>();
  return (policy) => {
    let known = compiled.get(policy);
    if (!known) {
      known = inSlices(compile(policy));
      compiled.set(policy, known);
    }
    return known;
  };
}
