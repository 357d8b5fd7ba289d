import { ValidatingAdmissionPolicy } from "#api/admissionregistration/validating-admission-policy.ts";
import { ValidatingAdmissionPolicyBinding } from "#api/admissionregistration/validating-admission-policy-binding.ts";
import { type AdmissionPlugin, type AdmissionRequest } from "../../plugin.ts";
import { isExempt, type PolicyDeps } from "../policy-deps.ts";
import { type BoundPolicy, PolicyIndex } from "../policy-index.ts";

export type BoundValidatingPolicy = BoundPolicy<ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding>;

const kinds = { policies: ValidatingAdmissionPolicy, bindings: ValidatingAdmissionPolicyBinding };

/** Checks requests by the ValidatingAdmissionPolicies that are in effect. Without any, nothing is loaded. */
export function validatingPolicies(deps: PolicyDeps): AdmissionPlugin {
  const index = new PolicyIndex(deps.informers, kinds);
  const validate = async (request: AdmissionRequest): Promise<void> => {
    const { checkPolicies } = await import("./check-policies.ts");
    await checkPolicies(deps, index.bound(), request);
  };
  return {
    name: "ValidatingAdmissionPolicy",
    appliesTo: ({ resource }) => !isExempt(resource),
    validate: (request) => (index.isEmpty ? undefined : validate(request)),
  };
}
