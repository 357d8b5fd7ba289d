import { type ValidatingAdmissionPolicy } from "#api/admissionregistration/validating-admission-policy.ts";
import { inSlices, type Steps } from "#lib/async/turns.ts";
import { type Expression, PolicyCompiler } from "../expressions/compile-expression.ts";

export interface CompiledPolicy {
  readonly conditions: readonly Expression[];
  readonly variables: ReadonlyMap<string, Expression>;
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

const compiled = new WeakMap<ValidatingAdmissionPolicy, Promise<CompiledPolicy>>();

/** The expressions of a policy, compiled once. What does not compile is a fault of that expression alone. */
export function compiledPolicy(policy: ValidatingAdmissionPolicy): Promise<CompiledPolicy> {
  let known = compiled.get(policy);
  if (!known) {
    known = inSlices(compileSteps(policy));
    compiled.set(policy, known);
  }
  return known;
}

/** One expression at a time, because a policy may have as many as fit into a request. */
function* compileSteps({ spec }: ValidatingAdmissionPolicy): Steps<CompiledPolicy> {
  const compiler = new PolicyCompiler({ hasParams: spec.paramKind !== undefined });
  for (const { name, expression } of spec.variables ?? []) yield void compiler.addVariable(name, expression);
  const conditions: Expression[] = [];
  for (const { expression } of spec.matchConditions ?? []) {
    conditions.push(compiler.compile(expression, "bool"));
    yield;
  }
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
  return { conditions, variables: compiler.variables, validations, annotations };
}
