import { type ResourceList } from "#api/core/container/resource-list.ts";
import { Pod } from "#api/core/pod.ts";
import { extendedPodKeys, extendedPodOf, podUidKey, ResourceClaim } from "#api/devices/resource-claim.ts";
import { type Influence, type Lapsed, type ObjectLookup, type UsageContext } from "./evaluator.ts";
import { resourceUsage, takesResources } from "./pod-usage.ts";

/**
 * The scheduler makes one claim for the extended resources of a pod, and may have left a few behind. If there are more,
 * somebody else has made them. They are not compared with each other, because that would take too long.
 */
const mostClaims = 16;

/** What the pod takes for which the scheduler made the claim; nothing for other claims. */
export function takenByPod(claim: ResourceClaim, context: UsageContext): Readonly<ResourceList> {
  const pod = podOf(claim, context.objects);
  if (!pod || !takesResources(pod, context.nowMs) || !isClaimOf(pod, claim, context.objects)) return nothing;
  let usage = usages.get(pod);
  if (!usage) {
    usage = resourceUsage(pod);
    usages.set(pod, usage);
  }
  return usage;
}

/** The pod that no longer pays for the claim, because it should be gone. */
export function lapsedPod(claim: ResourceClaim, { objects, nowMs }: UsageContext): readonly Lapsed[] {
  const pod = podOf(claim, objects);
  return pod && !takesResources(pod, nowMs) ? [{ resource: Pod, object: pod }] : [];
}

const nothing: Readonly<ResourceList> = {};
/** A small claim can name a pod with thousands of containers, again and again. */
const usages = new WeakMap<Pod, Readonly<ResourceList>>();

function podOf(claim: ResourceClaim, objects: ObjectLookup): Pod | undefined {
  const owner = extendedPodOf(claim);
  const pod = owner && objects.of(Pod).get({ namespace: claim.metadata.namespace, name: owner.name });
  return pod?.metadata.uid === owner?.uid ? pod : undefined;
}

/**
 * Whether the claim is the one whose devices the pod has requested itself. Anybody can make claims that look like it, but
 * only one counts: the one that the pod notes, or the first if the pod notes none that exists.
 */
function isClaimOf(pod: Pod, claim: ResourceClaim, objects: ObjectLookup): boolean {
  const { name, uid } = claim.metadata;
  const claims = claimsOf(pod, objects);
  if (claims.length > mostClaims) return false;
  const noted = pod.status?.extendedResourceClaimStatus?.resourceClaimName;
  if (noted === name) return true;
  const others = claims.filter((other) => other.metadata.uid !== uid);
  if (others.some((other) => other.metadata.name === noted)) return false;
  // A claim that is not known is about to be created, after all others.
  const isKnown = claims.some(({ metadata }) => metadata.uid === uid);
  return others.length === 0 || (isKnown && others.every((other) => isBefore(claim, other)));
}

const claimsOf = ({ metadata }: Pod, objects: ObjectLookup): readonly ResourceClaim[] =>
  objects.of(ResourceClaim).by("extendedPod", podUidKey(metadata));

const isBefore = ({ metadata: a }: ResourceClaim, { metadata: b }: ResourceClaim): boolean =>
  a.creationTimestamp === b.creationTimestamp ? a.name < b.name : a.creationTimestamp < b.creationTimestamp;

const podInfluence: Influence<Pod> = {
  resource: Pod,
  concerns({ before, after }, objects) {
    const pod = after ?? before;
    return pod ? few(claimsOf(pod, objects)) : [];
  },
};

const siblingInfluence: Influence<ResourceClaim> = {
  resource: ResourceClaim,
  concerns({ before, after }, objects) {
    const pods = new Set([before, after].flatMap((claim) => (claim ? extendedPodKeys(claim) : [])));
    return [...pods].flatMap((key) => few(objects.of(ResourceClaim).by("extendedPod", key)));
  },
};

/** A claim or a pod can change what the other claims of the pod take. */
export const claimInfluences: readonly Influence[] = [podInfluence, siblingInfluence];

/**
 * With too many, only a claim for which the pod paid before can change. A cache may have taken a whole batch, with many new
 * claims, before it tells of the first one, but the claims that were there before come first.
 */
const few = (claims: readonly ResourceClaim[]): readonly ResourceClaim[] => claims.slice(0, mostClaims);
