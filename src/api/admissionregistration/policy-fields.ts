import { dns1123Subdomain } from "#api/meta/names.ts";
import { defaulted, inGo, nullable, optional } from "#schema/fields.ts";
import { type InferFields } from "#schema/schema.ts";
import { listByKey } from "#schema/types.ts";
import { type Cursor } from "../cursor.ts";
import { MatchCondition, validateMatchConditions } from "./match-condition.ts";
import {
  failurePolicies,
  MatchResources,
  validateMatchConstraints,
  validateMatchResources,
} from "./match-resources.ts";
import { ParamKind, ParamRef, validateParamKind, validateParamRef } from "./params.ts";
import { warnOfReservedName } from "./reserved-name.ts";
import { type Variable, validateVariable } from "./variable.ts";

/** What all policies and their bindings have in common. */
export const policyTraits = {
  scope: "Cluster",
  categories: ["api-extensions"],
  hasGeneration: true,
  conditionalUpdate: true,
  warnings: warnOfReservedName,
} as const;

/** The fields of both types of policies, but for the one whose number differs. */
export const policyFields = {
  paramKind: nullable(1, ParamKind, "Kind of the parameters of the policy; none if absent."),
  matchConstraints: nullable(2, MatchResources, "Requests that the policy is about. Needs at least one resource rule."),
  matchConditions: optional(
    6,
    listByKey("name", MatchCondition),
    "Conditions that a request must satisfy for the policy to be evaluated, at most 64.",
  ),
};
export const failurePolicy = (tag: number) =>
  inGo(
    { isPointer: true },
    defaulted(
      tag,
      failurePolicies,
      "Fail",
      "What happens to a request if the policy cannot be evaluated: Fail or Ignore.",
    ),
  );

interface Policy extends InferFields<typeof policyFields> {
  variables?: Variable[];
}

export function validatePolicy(at: Cursor<Policy>): void {
  at.on("paramKind", validateParamKind);
  validateMatchConstraints(at.field("matchConstraints"));
}
export function validatePolicyExpressions(at: Cursor<Policy>): void {
  validateMatchConditions(at);
  at.each("variables", validateVariable);
}

/** The fields of both types of bindings, but for those that only one requires. */
export const bindingFields = {
  paramRef: nullable(2, ParamRef, "Parameters of the policy, if it has a paramKind."),
  matchResources: nullable(3, MatchResources, "Narrows the requests that the policy is about; not at all if absent."),
};

interface Binding extends InferFields<typeof bindingFields> {
  policyName?: string;
}

export function validateBinding(at: Cursor<Binding>): void {
  if (at.field("policyName").required()) at.field("policyName").rule(dns1123Subdomain);
  at.on("paramRef", validateParamRef);
  at.on("matchResources", validateMatchResources);
}
