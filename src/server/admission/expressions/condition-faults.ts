import { type Steps } from "#lib/async/turns.ts";
import { type FieldError, type FieldPath, invalidValue, maxFaults } from "#schema/field-error.ts";
import { compileExpression } from "./compile-expression.ts";
import { admissionEnvironment } from "./environment.ts";

export interface CheckedConditions {
  readonly matchConditions?: readonly { readonly expression: string }[] | undefined;
  /** The path of the list. */
  readonly at: FieldPath;
  readonly hasParams: boolean;
  /** Expressions that need no check. Those that pass are added. */
  readonly known?: Set<string>;
}

/**
 * Adds every match condition of a webhook or of a policy that does not compile. As upstream, they cannot use the
 * variables of the policy.
 */
export function* conditionFaults(
  { matchConditions = [], at, hasParams, known = new Set() }: CheckedConditions,
  faults: FieldError[],
): Steps<void> {
  const environment = admissionEnvironment({ params: hasParams, authorizer: true });
  for (const [index, { expression }] of matchConditions.entries()) {
    if (faults.length >= maxFaults) return;
    if (known.has(expression)) continue;
    const { source, fault } = compileExpression(environment, expression.trim(), "bool");
    if (fault === undefined) known.add(expression);
    else faults.push(invalidValue(at.index(index).child("expression"), source, fault));
    yield;
  }
}
