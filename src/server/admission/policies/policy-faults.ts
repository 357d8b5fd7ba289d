import { type MatchCondition } from "#api/admissionregistration/match-condition.ts";
import { type ParamKind } from "#api/admissionregistration/params.ts";
import { type Variable } from "#api/admissionregistration/variable.ts";
import { inSlices, type Steps } from "#lib/async/turns.ts";
import { type FieldError, type FieldPath, invalidValue, maxFaults, root } from "#schema/field-error.ts";
import { type Expression, PolicyCompiler } from "../expressions/compile-expression.ts";
import { conditionFaults } from "../expressions/condition-faults.ts";

export type Take = (path: FieldPath, expression: Expression) => void;
export const at = root.child("spec");

interface CommonSpec {
  readonly paramKind?: ParamKind;
  readonly variables?: readonly Variable[];
  readonly matchConditions?: readonly MatchCondition[];
}

/**
 * Every expression of a policy that does not compile; `rest` compiles those that only its type has. Compiling takes a
 * while, so others get their turn.
 */
export function policyFaults<S extends CommonSpec>(
  spec: S,
  rest: (spec: S, compiler: PolicyCompiler, take: Take) => Steps<void>,
): Promise<FieldError[]> {
  const faults: FieldError[] = [];
  const { matchConditions, paramKind, variables = [] } = spec;
  const hasParams = paramKind !== undefined;
  const take: Take = (path, { source, fault }) => {
    if (fault !== undefined && faults.length < maxFaults) faults.push(invalidValue(path, source, fault));
  };
  return inSlices(
    (function* (): Steps<FieldError[]> {
      yield* conditionFaults({ matchConditions, at: at.child("matchConditions"), hasParams }, faults);
      const compiler = new PolicyCompiler({ hasParams, hasVariables: variables.length > 0 });
      for (const [index, { name, expression }] of variables.entries()) {
        take(at.child("variables").index(index).child("expression"), compiler.addVariable(name, expression));
        yield;
      }
      yield* rest(spec, compiler, take);
      return faults;
    })(),
  );
}
