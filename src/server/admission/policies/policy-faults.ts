import { type ValidatingAdmissionPolicy } from "#api/admissionregistration/validating-admission-policy.ts";
import { inSlices, type Steps } from "#lib/async/turns.ts";
import { type FieldError, type FieldPath, invalidValue, maxFaults, root } from "#schema/field-error.ts";
import { type Expression, PolicyCompiler } from "../expressions/compile-expression.ts";
import { conditionFaults } from "../expressions/condition-faults.ts";

/** Every expression of a policy that does not compile. Compiling takes a while, so others get their turn. */
export function policyFaults({ spec }: ValidatingAdmissionPolicy): Promise<FieldError[]> {
  const faults: FieldError[] = [];
  const { matchConditions, paramKind } = spec;
  const hasParams = paramKind !== undefined;
  const take = (path: FieldPath, { source, fault }: Expression) => {
    if (fault !== undefined && faults.length < maxFaults) faults.push(invalidValue(path, source, fault));
  };
  return inSlices(
    (function* (): Steps<FieldError[]> {
      yield* conditionFaults({ matchConditions, at: at.child("matchConditions"), hasParams }, faults);
      yield* compileRest(spec, take);
      return faults;
    })(),
  );
}

type Spec = ValidatingAdmissionPolicy["spec"];
type Take = (path: FieldPath, expression: Expression) => void;
const at = root.child("spec");

function* compileRest(
  { variables = [], validations = [], auditAnnotations = [], paramKind }: Spec,
  take: Take,
): Steps<void> {
  const compiler = new PolicyCompiler({ hasParams: paramKind !== undefined, hasVariables: variables.length > 0 });
  for (const [index, { name, expression }] of variables.entries()) {
    take(at.child("variables").index(index).child("expression"), compiler.addVariable(name, expression));
    yield;
  }
  for (const [index, { expression, messageExpression }] of validations.entries()) {
    const path = at.child("validations").index(index);
    take(path.child("expression"), compiler.compile(expression, "bool"));
    yield;
    if (!messageExpression) continue;
    take(path.child("messageExpression"), compiler.compile(messageExpression, "string", { authorizer: false }));
    yield;
  }
  for (const [index, { valueExpression }] of auditAnnotations.entries()) {
    const path = at.child("auditAnnotations").index(index).child("valueExpression");
    take(path, compiler.compile(valueExpression.trim(), "string or null"));
    yield;
  }
}
