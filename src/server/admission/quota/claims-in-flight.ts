import { extendedPodKeys, ResourceClaim } from "#api/devices/resource-claim.ts";
import { type KnownObjects, type ObjectLookup } from "#api/quota/evaluator.ts";
import { type ApiObject, type Resource } from "#api/resource.ts";
import { type Informers } from "#runtime/informer.ts";

/**
 * The claims for extended resources of pods that are being created. One claim of a pod takes only what the pod has not
 * taken itself, so those that are created at the same moment must know of each other.
 */
export class ClaimsInFlight implements ObjectLookup {
  readonly #informers: Informers;
  /** By uid, with the key of the pod. */
  readonly #claims = new Map<string, { readonly key: string; readonly claim: ResourceClaim }>();

  constructor(informers: Informers) {
    this.#informers = informers;
    informers.of(ResourceClaim).subscribe(({ object }) => this.#claims.delete(object.metadata.uid));
  }

  /** What the caches know. The claims under a pod include those that are being created. */
  of<T extends ApiObject>(resource: Resource<T>): KnownObjects<T> {
    // The comparison shows that these objects are claims.
    if (isClaims(resource)) return this.#knownClaims() as unknown as KnownObjects<T>;
    return this.#informers.of(resource);
  }

  /** Remembers the claim until the cache knows it. Returns what to call if it is not written. */
  add(claim: ResourceClaim): () => void {
    const { uid } = claim.metadata;
    for (const key of extendedPodKeys(claim)) this.#claims.set(uid, { key, claim });
    return () => this.#claims.delete(uid);
  }

  #knownClaims(): KnownObjects<ResourceClaim> {
    const cached = this.#informers.of(ResourceClaim);
    return {
      get: (ref) => cached.get(ref),
      by: (index, key) => {
        const unwritten = index === "extendedPod" ? this.#unwritten(key) : [];
        return unwritten.length > 0 ? [...cached.by(index, key), ...unwritten] : cached.by(index, key);
      },
    };
  }

  #unwritten(key: string): readonly ResourceClaim[] {
    return [...this.#claims.values()].flatMap((one) => (one.key === key ? [one.claim] : []));
  }
}

const isClaims = (resource: Pick<Resource, "group" | "plural">): boolean =>
  resource.plural === ResourceClaim.plural && resource.group === ResourceClaim.group;
