import { type ValidatingAdmissionPolicy } from "#api/admissionregistration/validating-admission-policy.ts";
import { type Steps } from "#lib/async/turns.ts";
import { type Expression } from "../../expressions/compile-expression.ts";
import { type CompiledCommon, compileCommon, compileOnce } from "../compile-common.ts";

export interface CompiledPolicy extends CompiledCommon {
  readonly validations: readonly CompiledValidation[];
  readonly annotations: readonly CompiledAnnotation[];
}
export interface CompiledValidation {
  readonly expression: Expression;
  readonly messageExpression: Expression | undefined;
  readonly message: string;
  readonly reason: string | undefined;
}
export interface CompiledAnnotation {
  readonly key: string;
  readonly expression: Expression;
}

export const compiledPolicy = compileOnce(compileSteps);

function* compileSteps({ spec }: ValidatingAdmissionPolicy): Steps<CompiledPolicy> {
  const { compiler, ...common } = yield* compileCommon(spec);
  const validations: CompiledValidation[] = [];
  for (const { expression, messageExpression, message = "", reason } of spec.validations ?? []) {
    validations.push({
      expression: compiler.compile(expression, "bool"),
      messageExpression: messageExpression
        ? compiler.compile(messageExpression, "string", { authorizer: false })
        : undefined,
      message,
      reason,
    });
    yield;
  }
  const annotations: CompiledAnnotation[] = [];
  for (const { key, valueExpression } of spec.auditAnnotations ?? []) {
    annotations.push({ key, expression: compiler.compile(valueExpression, "string or null") });
    yield;
  }
  return { ...common, validations, annotations };
}
