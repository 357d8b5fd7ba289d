import { MutatingAdmissionPolicy } from "#api/admissionregistration/mutating-admission-policy.ts";
import { MutatingAdmissionPolicyBinding } from "#api/admissionregistration/mutating-admission-policy-binding.ts";
import { type ChangeDeps } from "../../changes/change-object.ts";
import { RequestRounds } from "../../changes/rounds.ts";
import { type AdmissionPlugin, type AdmissionRequest } from "../../plugin.ts";
import { isExempt, type PolicyDeps } from "../policy-deps.ts";
import { type BoundPolicy, PolicyIndex } from "../policy-index.ts";

export type MutatingPolicyDeps = PolicyDeps & ChangeDeps;
export type BoundMutatingPolicy = BoundPolicy<MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding>;

const kinds = { policies: MutatingAdmissionPolicy, bindings: MutatingAdmissionPolicyBinding };

/** Changes objects by the MutatingAdmissionPolicies that are in effect. Without any, nothing is loaded. */
export function mutatingPolicies(deps: MutatingPolicyDeps): AdmissionPlugin {
  const index = new PolicyIndex(deps.informers, kinds);
  const rounds = new RequestRounds();
  const mutate = async (request: AdmissionRequest): Promise<void> => {
    const { mutateByPolicies } = await import("./mutate-by-policies.ts");
    await mutateByPolicies(deps, index.bound(), { request, round: rounds.of(request) });
  };
  return {
    name: "MutatingAdmissionPolicy",
    appliesTo: ({ resource }) => !isExempt(resource),
    mutate: (request) => (index.isEmpty ? undefined : mutate(request)),
    again: rounds,
  };
}
