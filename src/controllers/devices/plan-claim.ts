import { isDoneWithClaims } from "#api/core/pod/pod-state.ts";
import { type Pod } from "#api/core/pod.ts";
import { type ResourceClaimConsumerReference } from "#api/devices/claim-status.ts";
import { type ResourceClaim, resourceClaimFinalizer } from "#api/devices/resource-claim.ts";
import { controllerOf } from "#api/meta/owner.ts";

/** What has to be done about a claim that exists. The steps are taken in this order. */
export interface ClaimPlan {
  /** The consumers that are left, if some are gone. */
  readonly reservedFor?: readonly ResourceClaimConsumerReference[];
  /** Its devices are free for others. */
  readonly deallocate: boolean;
  readonly removeFinalizer: boolean;
  /** The pod that it was made for does not need it any more. */
  readonly remove: boolean;
}

export interface ClaimFacts {
  podNamed(name: string): Pod | undefined;
  /** Whether a pod that is not known certainly does not exist. */
  isGone(consumer: ResourceClaimConsumerReference): boolean;
}

/** Frees what no pod uses any more. Consumers that are not pods are left alone, as nobody here knows them. */
export function planClaim(claim: ResourceClaim, facts: ClaimFacts): ClaimPlan {
  const { metadata, status } = claim;
  const before = status.reservedFor ?? [];
  const left = before.filter((consumer) => isLeft(consumer, facts));
  const hasFinalizer = metadata.finalizers?.includes(resourceClaimFinalizer) ?? false;
  const isUnused = left.length === 0;
  const isChanged = left.length < before.length;
  // A claim that was never used keeps its devices, unless it is deleted.
  const isOver = isUnused && hasFinalizer && (isChanged || metadata.deletionTimestamp !== undefined);
  const deallocate = isOver && status.allocation !== undefined;
  return {
    ...(isChanged ? { reservedFor: left } : {}),
    deallocate,
    removeFinalizer: isOver,
    remove: isUnused && metadata.deletionTimestamp === undefined && isOwnerDone(claim, facts),
  };
}

function isLeft(consumer: ResourceClaimConsumerReference, facts: ClaimFacts): boolean {
  const { apiGroup = "", resource, name, uid } = consumer;
  if (apiGroup !== "" || resource !== "pods") return true;
  const pod = facts.podNamed(name);
  if (!pod) return !facts.isGone(consumer);
  return pod.metadata.uid === uid && !isDoneWithClaims(pod);
}

/** A pod that is not known may be new. The garbage collector deletes the claims of those that are gone. */
function isOwnerDone(claim: ResourceClaim, facts: ClaimFacts): boolean {
  const owner = controllerOf(claim);
  if (owner?.kind !== "Pod" || owner.apiVersion !== "v1") return false;
  const pod = facts.podNamed(owner.name);
  return pod !== undefined && (pod.metadata.uid !== owner.uid || isDoneWithClaims(pod));
}
