import { isDeviceResource } from "#api/core/container/resource-list.ts";
import { Pod } from "#api/core/pod.ts";
import { extendedClaimAnnotation, podUidKey, ResourceClaim } from "#api/devices/resource-claim.ts";
import { ownerRefTo } from "#api/meta/owner.ts";
import { type Informers } from "#runtime/informer.ts";
import { requestOf } from "../../resources.ts";
import { type ClassFor, comesFromClass, resourcesFromClasses } from "./class-for.ts";
import { planRequests, type RequestMapping } from "./plan-requests.ts";

/** The extended resources of a pod, of which classes stand behind some. */
export interface ExtendedWants {
  /** What is left of an earlier attempt. It has to go before the next one. */
  readonly stale: ResourceClaim | undefined;
  /** Resources that classes stand behind. */
  readonly backed: readonly string[];
  /** The others. Only a device plugin can offer them. */
  readonly others: readonly string[];
}

/** Returns undefined if the pod wants nothing that a class stands behind, as usual. */
export function extendedWantsOf(informers: Informers, classFor: ClassFor, pod: Pod): ExtendedWants | undefined {
  const backed = resourcesFromClasses(pod, classFor);
  if (backed.length === 0) return undefined;
  const asked = [...requestOf(pod).requests.scalar];
  const others = asked.flatMap(([name, amount]) => (amount > 0 && isDeviceResource(name) ? [name] : []));
  return {
    stale: extendedClaimOf(informers, pod),
    backed,
    others: others.filter((name) => !backed.includes(name)),
  };
}

const extendedClaimOf = (informers: Informers, { metadata }: Pod): ResourceClaim | undefined =>
  informers.of(ResourceClaim).by("extendedPod", podUidKey(metadata))[0];

/** The resources that a node cannot provide without a claim, sorted; undefined if it lacks one that no claim provides. */
export function missingFrom(
  { backed, others }: ExtendedWants,
  offered: ReadonlyMap<string, number>,
): readonly string[] | undefined {
  if (!others.every((name) => offered.has(name))) return undefined;
  return backed.filter((name) => comesFromClass(offered, name));
}

/** A claim that exists only here, until its pod has a node. */
export interface ExtendedClaim {
  readonly claim: ResourceClaim;
  readonly mappings: readonly RequestMapping[];
}

/** As upstream: no claim can have this name. */
const nameInMemory = "<extended-resources>";

/** The claim for these resources of a pod. */
export function planExtendedClaim(
  pod: Pod,
  resources: readonly string[],
  { classFor, uid = "" }: { readonly classFor: ClassFor; readonly uid?: string },
): ExtendedClaim {
  const { namespace, name } = pod.metadata;
  const { blockOwnerDeletion: _, ...owner } = ownerRefTo(Pod, pod);
  const { requests, mappings } = planRequests(pod, resources, classFor);
  const metadata = {
    namespace,
    name: nameInMemory,
    uid,
    generateName: `${name}-extended-resources-`,
    ownerReferences: [owner],
    annotations: { [extendedClaimAnnotation]: "true" },
  };
  return { claim: { metadata, spec: { devices: { requests } }, status: {} } as unknown as ResourceClaim, mappings };
}
