import { ageColumn, column } from "#api/meta/columns.ts";
import { inGo, present, unstated } from "#schema/fields.ts";
import { inPackage } from "#schema/schema.ts";
import { oneOf, setOf, string } from "#schema/types.ts";
import { type Cursor } from "../cursor.ts";
import { type ClusterObject, defineResource } from "../resource.ts";
import { paramRefColumn } from "./params.ts";
import { bindingFields, policyTraits, validateBinding } from "./policy-fields.ts";

const leftOut = { zero: "left out" } as const;
const actions = ["Audit", "Deny", "Warn"] as const;

const fields = {
  spec: inPackage("admissionregistration/v1").present(
    2,
    "ValidatingAdmissionPolicyBindingSpec",
    "The policy, its parameters, the requests that it is about, and what follows from a failed validation.",
    {
      policyName: unstated(
        inGo(leftOut, present(1, string(), "Name of the ValidatingAdmissionPolicy to put into effect.")),
      ),
      ...bindingFields,
      validationActions: inGo(
        leftOut,
        present(
          4,
          setOf(oneOf(...actions)),
          "What follows from a failed validation: Deny, Warn or Audit. Deny and Warn exclude each other.",
        ),
      ),
    },
  ),
};
export interface ValidatingAdmissionPolicyBinding extends ClusterObject<typeof fields> {}

export const ValidatingAdmissionPolicyBinding = defineResource(
  "admissionregistration.k8s.io/v1.ValidatingAdmissionPolicyBinding",
  fields,
  {
    ...policyTraits,
    doc: "Puts a ValidatingAdmissionPolicy into effect.",
    columns: [column("PolicyName", "Name of the policy.", ({ spec }) => spec.policyName), paramRefColumn, ageColumn],
    validate(binding) {
      const at = binding.field("spec");
      validateBinding(at);
      validateActions(at);
    },
  },
);

function validateActions(spec: Cursor<{ validationActions: readonly string[] }>): void {
  const at = spec.field("validationActions");
  const seen = new Set<unknown>();
  spec.each("validationActions", (at) => {
    // The schema refuses all other texts.
    if (at.value === "") at.unsupported(actions);
    at.unique(seen);
  });
  if (seen.has("Deny") && seen.has("Warn")) {
    at.invalid(
      "must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)",
    );
  }
  at.required("at least one validation action is required");
}
