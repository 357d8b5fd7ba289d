import { type ValidatingAdmissionPolicy } from "#api/admissionregistration/validating-admission-policy.ts";
import { type Steps } from "#lib/async/turns.ts";
import { type PolicyCompiler } from "../../expressions/compile-expression.ts";
import { at, type Take } from "../policy-faults.ts";

/** The expressions that only policies of this type have. */
export function* validationFaults(
  { validations = [], auditAnnotations = [] }: ValidatingAdmissionPolicy["spec"],
  compiler: PolicyCompiler,
  take: Take,
): Steps<void> {
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
