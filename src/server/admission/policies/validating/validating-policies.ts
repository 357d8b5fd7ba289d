import { ValidatingAdmissionPolicy } from "#api/admissionregistration/validating-admission-policy.ts";
import { ValidatingAdmissionPolicyBinding } from "#api/admissionregistration/validating-admission-policy-binding.ts";
import { type AdmissionPlugin } from "../../plugin.ts";
import { isExempt, type PolicyDeps } from "../policy-deps.ts";
import { type BoundPolicy, PolicyIndex } from "../policy-index.ts";

export type BoundValidatingPolicy = BoundPolicy<ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding>;

const kinds = { policies: ValidatingAdmissionPolicy, bindings: ValidatingAdmissionPolicyBinding };

/** Checks requests by the ValidatingAdmissionPolicies that are in effect. Without any, nothing is loaded. */
export function validatingPolicies(deps: PolicyDeps): AdmissionPlugin {
  const index = new PolicyIndex(deps.informers, kinds);
  return {
    name: "ValidatingAdmissionPolicy",
    appliesTo: ({ resource }) => !index.isEmpty && !isExempt(resource),
    async validate(request) {
      const { checkPolicies } = await import("./check-policies.ts");
      await checkPolicies(deps, index.bound(), request);
    },
  };
}
