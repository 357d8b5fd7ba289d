import { ValidatingAdmissionPolicy } from "#api/admissionregistration/validating-admission-policy.ts";
import { ignoreNotFound, isConflict } from "#api/status.ts";
import { inSlices } from "#lib/async/turns.ts";
import { type Reconciler, type ReconcilerDeps } from "#runtime/reconciler.ts";
import { runReconcilers } from "#runtime/run-reconciler.ts";
import { type ResourceRegistry } from "#server/registry.ts";
import { checkTypes } from "./check-types.ts";
import { type FollowPoliciesDeps } from "./follow-policies.ts";

export const runTypeController = (deps: FollowPoliciesDeps, signal: AbortSignal): Promise<void> =>
  runReconcilers([typeController(deps.resources)], { ...deps, component: "apiserver" }, signal);

/** Says in the status of each policy what is wrong with the types of its expressions. Nothing else depends on it. */
const typeController =
  (resources: ResourceRegistry) =>
  ({ client }: ReconcilerDeps): Reconciler<ValidatingAdmissionPolicy> => ({
    name: "validatingadmissionpolicy-status",
    reconciles: ValidatingAdmissionPolicy,
    workers: 1,

    async reconcile(policy, signal) {
      const { generation = 1 } = policy.metadata;
      if (generation <= (policy.status?.observedGeneration ?? 0)) return;
      const warnings = await inSlices(checkTypes(resources, policy));
      const typeChecking = warnings.length > 0 ? { expressionWarnings: warnings } : {};
      const status = { ...policy.status, observedGeneration: generation, typeChecking };
      // If somebody else has changed the policy meanwhile, it is looked at again because of that change.
      await client
        .updateStatus(ValidatingAdmissionPolicy, { ...policy, status }, { signal })
        .catch((error: unknown) => (isConflict(error) ? undefined : ignoreNotFound(error)));
    },
  });
