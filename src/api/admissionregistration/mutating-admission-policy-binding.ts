import { ageColumn, column } from "#api/meta/columns.ts";
import { optional } from "#schema/fields.ts";
import { inPackage } from "#schema/schema.ts";
import { string } from "#schema/types.ts";
import { type ClusterObject, defineResource } from "../resource.ts";
import { paramRefColumn } from "./params.ts";
import { bindingFields, policyTraits, validateBinding } from "./policy-fields.ts";
import { refuseDeletions } from "./rule-with-operations.ts";

const fields = {
  spec: inPackage("admissionregistration/v1").embedded(
    2,
    "MutatingAdmissionPolicyBindingSpec",
    "The policy, its parameters, and the requests that it is about.",
    { policyName: optional(1, string(), "Name of the MutatingAdmissionPolicy to put into effect."), ...bindingFields },
  ),
};
export interface MutatingAdmissionPolicyBinding extends ClusterObject<typeof fields> {}

export const MutatingAdmissionPolicyBinding = defineResource(
  "admissionregistration.k8s.io/v1.MutatingAdmissionPolicyBinding",
  fields,
  {
    ...policyTraits,
    doc: "Puts a MutatingAdmissionPolicy into effect.",
    columns: [
      column("PolicyName", "Name of the policy.", ({ spec }) => spec.policyName ?? ""),
      paramRefColumn,
      ageColumn,
    ],
    validate(binding) {
      const at = binding.field("spec");
      validateBinding(at);
      at.on("matchResources", refuseDeletions);
    },
  },
);
