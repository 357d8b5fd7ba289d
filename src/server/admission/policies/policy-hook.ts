import { ValidatingAdmissionPolicy } from "#api/admissionregistration/validating-admission-policy.ts";
import { type ApiObject, type Resource } from "#api/resource.ts";
import { invalid } from "#api/status.ts";
import { equal } from "#lib/data/equal.ts";

const policies = ValidatingAdmissionPolicy as unknown as Resource;

/** Compiles the expressions of a policy before it is written. The compiler is loaded when it is needed. */
export const checkPolicy = (
  { resource, subresource }: { readonly resource: Resource; readonly subresource: string },
  object: ApiObject,
  old: ApiObject | undefined,
): Promise<undefined> | undefined =>
  resource === policies && subresource === ""
    ? check(object as ValidatingAdmissionPolicy, old as ValidatingAdmissionPolicy | undefined)
    : undefined;

async function check(
  policy: ValidatingAdmissionPolicy,
  old: ValidatingAdmissionPolicy | undefined,
): Promise<undefined> {
  // What was accepted once is not checked again.
  if (old && equal(old.spec, policy.spec)) return undefined;
  const { policyFaults } = await import("./policy-faults.ts");
  const faults = await policyFaults(policy);
  if (faults.length > 0) throw invalid(ValidatingAdmissionPolicy, policy.metadata.name, faults);
  return undefined;
}
