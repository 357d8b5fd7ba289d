import { approvalOf, isProtectedGroup } from "#api/apiextensions/api-approval.ts";
import {
  type CustomResourceDefinition,
  type DefinitionCondition,
  type DefinitionStatus,
} from "#api/apiextensions/definition-fields.ts";
import { isEstablished, withStatusCondition } from "#api/apiextensions/definition-status.ts";
import { findCondition } from "#api/meta/condition.ts";
import { planNames, type UsedNames } from "./plan-names.ts";

/** The status that a definition should have: the names that it gets, and whether it is served. */
export function planStatus(definition: CustomResourceDefinition, used: UsedNames, now: string): DefinitionStatus {
  const { spec, status } = definition;
  const { names, condition } = planNames(spec.names, status.acceptedNames, used);
  const conditions = [condition, established(definition, condition), approved(definition)];
  const start: DefinitionStatus = { ...status, acceptedNames: names };
  return conditions.reduce<DefinitionStatus>(
    (planned, one) => (one ? withStatusCondition(planned, one, now) : planned),
    start,
  );
}

/** Once a definition is served, it stays so: other names do not change that. */
function established(definition: CustomResourceDefinition, names: DefinitionCondition): DefinitionCondition {
  const old = findCondition(definition.status.conditions, "Established");
  if (old && isEstablished(definition)) return old;
  const message = "the initial names have been accepted";
  if (names.status === "True") return { type: "Established", status: "True", reason: "InitialNamesAccepted", message };
  return { type: "Established", status: "False", reason: "NotAccepted", message: "not all names are accepted" };
}

const approvals = {
  missing: ["False", "MissingAnnotation"],
  bypassed: ["False", "UnapprovedAnnotation"],
  approved: ["True", "ApprovedAnnotation"],
  invalid: ["False", "InvalidAnnotation"],
} as const;

function approved(definition: CustomResourceDefinition): DefinitionCondition | undefined {
  if (!isProtectedGroup(definition.spec.group)) return undefined;
  const { state, message } = approvalOf(definition);
  const [status, reason] = approvals[state];
  return { type: "KubernetesAPIApprovalPolicyConformant", status, reason, message };
}
