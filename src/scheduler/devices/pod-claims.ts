import { type Pod } from "#api/core/pod.ts";
import { ResourceClaim } from "#api/devices/resource-claim.ts";
import { isControlledBy } from "#api/meta/owner.ts";
import { type Informers } from "#runtime/informer.ts";

export const hasResourceClaims = ({ spec }: Pod): boolean => (spec.resourceClaims?.length ?? 0) > 0;

/** The name of a claim of the pod: `""` if none is needed, undefined if it was not created yet. */
export function claimNameOf(pod: Pod, entry: NonNullable<Pod["spec"]["resourceClaims"]>[number]): string | undefined {
  if (entry.resourceClaimName !== undefined) return entry.resourceClaimName;
  const status = pod.status?.resourceClaimStatuses?.find(({ name }) => name === entry.name);
  return status && (status.resourceClaimName ?? "");
}

/** The claims of a pod that exist, or upstream's reason why the pod has to wait. */
export function resourceClaimsOf(informers: Informers, pod: Pod): ResourceClaim[] | string {
  const { namespace, name: podName } = pod.metadata;
  const known = informers.of(ResourceClaim);
  const claims = new Map<string, ResourceClaim>();
  for (const entry of pod.spec.resourceClaims ?? []) {
    const name = claimNameOf(pod, entry);
    if (name === undefined) return `pod "${namespace}/${podName}": ResourceClaim not created yet`;
    if (name === "") continue;
    const claim = known.get({ namespace, name });
    if (!claim) return `resourceclaim.resource.k8s.io "${name}" not found`;
    if (claim.metadata.deletionTimestamp) return `resourceclaim "${name}" is being deleted`;
    if (entry.resourceClaimName === undefined && !isControlledBy(claim, pod)) {
      const owned = `was not created for Pod ${namespace}/${podName} (Pod is not owner)`;
      return `ResourceClaim ${namespace}/${name} ${owned}`;
    }
    claims.set(claim.metadata.uid, claim);
  }
  return [...claims.values()];
}

export const isReservedFor = ({ status }: ResourceClaim, pod: Pod): boolean =>
  status.reservedFor?.some(({ uid }) => uid === pod.metadata.uid) ?? false;
