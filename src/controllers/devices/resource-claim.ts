import { resourceClaimKeysOf } from "#api/core/pod/pod-references.ts";
import { isDoneWithClaims } from "#api/core/pod/pod-state.ts";
import { Pod } from "#api/core/pod.ts";
import { ResourceClaim, resourceClaimFinalizer } from "#api/devices/resource-claim.ts";
import { controllerOf } from "#api/meta/owner.ts";
import { ignoreNotFound } from "#api/status.ts";
import { type Change } from "#runtime/informer.ts";
import { revisionOf } from "#runtime/object-cache.ts";
import { type Reconciler, type ReconcilerDeps, type Wake, watch } from "#runtime/reconciler.ts";
import { type ClaimPlan, planClaim } from "./plan-claim.ts";

/** Frees the devices of claims that no pod uses any more, and deletes claims whose pods are done. */
export function resourceClaimController({ client, informers }: ReconcilerDeps): Reconciler<ResourceClaim> {
  const pods = informers.of(Pod);
  return {
    name: "resourceclaim",
    reconciles: ResourceClaim,
    watches: [watch(Pod, claimsToFree)],

    async reconcile(claim, signal) {
      const { namespace, name, resourceVersion, uid } = claim.metadata;
      // Its owner and every consumer are older than this version of the claim, so a pod that is missing then does not exist.
      const namesPods = claim.status.reservedFor?.length || controllerOf(claim);
      if (namesPods) await pods.caughtUpTo(revisionOf(resourceVersion), signal);
      const plan = planClaim(claim, (pod) => pods.get({ namespace, name: pod }));
      const next = await release(client, { claim, plan }, signal);
      if (!plan.remove) return;
      const version = next.metadata.resourceVersion;
      const preconditions = { uid, ...(version ? { resourceVersion: version } : {}) };
      await client.delete(ResourceClaim, { namespace, name }, { preconditions, signal }).catch(ignoreNotFound);
    },
  };
}

interface Turn {
  readonly claim: ResourceClaim;
  readonly plan: ClaimPlan;
}

/** An update, so that it fails if somebody else has begun to use the claim. */
async function release(
  client: ReconcilerDeps["client"],
  { claim, plan }: Turn,
  signal: AbortSignal,
): Promise<ResourceClaim> {
  let current = claim;
  if (plan.reservedFor || plan.deallocate) {
    const { allocation, reservedFor, ...rest } = claim.status;
    const left = plan.reservedFor ?? reservedFor ?? [];
    const status = {
      ...rest,
      ...(allocation && !plan.deallocate ? { allocation } : {}),
      ...(left.length > 0 ? { reservedFor: [...left] } : {}),
    };
    current = await client.updateStatus(ResourceClaim, { ...current, status }, { signal });
  }
  if (!plan.removeFinalizer) return current;
  const finalizers = current.metadata.finalizers?.filter((name) => name !== resourceClaimFinalizer) ?? [];
  const metadata = { ...current.metadata, finalizers };
  return await client.update(ResourceClaim, { ...current, metadata }, { signal });
}

/** The claims of a pod that is done with them. */
function claimsToFree({ type, object: pod }: Change<Pod>): Wake[] {
  const keys = resourceClaimKeysOf(pod);
  if (keys.length === 0 || (type === "put" && !isDoneWithClaims(pod))) return [];
  const { namespace } = pod.metadata;
  return keys.map((key) => ({ namespace, name: key.slice(namespace.length + 1) }));
}
