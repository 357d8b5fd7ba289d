import { type Informers } from "#runtime/informer.ts";
import { type Authorizer } from "#server/authorize/authorizer.ts";
import { type ResourceRegistry } from "#server/registry.ts";
import { type ScaleOf } from "../matching/sent-request.ts";
import { type AdmissionPlugin } from "../plugin.ts";
import { PolicyIndex } from "./policy-index.ts";

export interface PolicyDeps {
  readonly informers: Informers;
  readonly authorizers: readonly Authorizer[];
  /** Every kind that is served, with its versions. */
  readonly resources: ResourceRegistry;
  readonly scaleOf: ScaleOf;
}

/** Policies that checked themselves could keep everybody from repairing them. */
const exempt: ReadonlySet<string> = new Set([
  "validatingadmissionpolicies",
  "validatingadmissionpolicybindings",
  "mutatingadmissionpolicies",
  "mutatingadmissionpolicybindings",
]);

/** Checks requests by the ValidatingAdmissionPolicies that are in effect. Without any, nothing is loaded. */
export function validatingPolicies(deps: PolicyDeps): AdmissionPlugin {
  const index = new PolicyIndex(deps.informers);
  return {
    name: "ValidatingAdmissionPolicy",
    appliesTo: ({ resource }) =>
      !index.isEmpty && !(resource.group === "admissionregistration.k8s.io" && exempt.has(resource.plural)),
    async validate(request) {
      const { checkPolicies } = await import("./check-policies.ts");
      await checkPolicies(deps, index.bound(), request);
    },
  };
}
