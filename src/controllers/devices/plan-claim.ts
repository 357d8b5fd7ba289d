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

/** Every pod that the claim names and that exists must be known. */
export type PodNamed = (name: string) => Pod | undefined;

/** Frees what no pod uses any more. Consumers that are not pods are left alone, as nobody here knows them. */
export function planClaim(claim: ResourceClaim, podNamed: PodNamed): ClaimPlan {
  const { metadata, status } = claim;
  const before = status.reservedFor ?? [];
  const left = before.filter((consumer) => isLeft(consumer, podNamed));
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
    remove: isUnused && metadata.deletionTimestamp === undefined && isOwnerDone(claim, podNamed),
  };
}

function isLeft(consumer: ResourceClaimConsumerReference, podNamed: PodNamed): boolean {
  const { apiGroup = "", resource, name, uid } = consumer;
  if (apiGroup !== "" || resource !== "pods") return true;
  const pod = podNamed(name);
  return pod?.metadata.uid === uid && !isDoneWithClaims(pod);
}

/** The garbage collector deletes the claims of pods that are gone. */
function isOwnerDone(claim: ResourceClaim, podNamed: PodNamed): boolean {
  const owner = controllerOf(claim);
  if (owner?.kind !== "Pod" || owner.apiVersion !== "v1") return false;
  const pod = podNamed(owner.name);
  return pod !== undefined && (pod.metadata.uid !== owner.uid || isDoneWithClaims(pod));
}
