import { MutatingAdmissionPolicy } from "#api/admissionregistration/mutating-admission-policy.ts";
import { ValidatingAdmissionPolicy } from "#api/admissionregistration/validating-admission-policy.ts";
import { type ApiObject, type Resource } from "#api/resource.ts";
import { invalid } from "#api/status.ts";
import { equal } from "#lib/data/equal.ts";
import { type FieldError } from "#schema/field-error.ts";

type Policy = ValidatingAdmissionPolicy | MutatingAdmissionPolicy;

const validating = ValidatingAdmissionPolicy as unknown as Resource;
const mutating = MutatingAdmissionPolicy as unknown as Resource;

/** Compiles the expressions of a policy before it is written. The compiler is loaded when it is needed. */
export const checkPolicy = (
  { resource, subresource }: { readonly resource: Resource; readonly subresource: string },
  object: ApiObject,
  old: ApiObject | undefined,
): Promise<undefined> | undefined =>
  (resource === validating || resource === mutating) && subresource === ""
    ? check(resource, object as Policy, old as Policy | undefined)
    : undefined;

async function check(resource: Resource, policy: Policy, old: Policy | undefined): Promise<undefined> {
  // What was accepted once is not checked again.
  if (old && equal(old.spec, policy.spec)) return undefined;
  const faults = await faultsOf(resource, policy);
  if (faults.length > 0) throw invalid(resource, policy.metadata.name, faults);
  return undefined;
}

async function faultsOf(resource: Resource, { spec }: Policy): Promise<FieldError[]> {
  const { policyFaults } = await import("./policy-faults.ts");
  if (resource === mutating) {
    const { mutationFaults } = await import("./mutating/policy-faults.ts");
    return await policyFaults(spec as MutatingAdmissionPolicy["spec"], mutationFaults);
  }
  const { validationFaults } = await import("./validating/policy-faults.ts");
  return await policyFaults(spec as ValidatingAdmissionPolicy["spec"], validationFaults);
}
