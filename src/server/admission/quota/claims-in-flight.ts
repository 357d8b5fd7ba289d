import { extendedPodKeys, ResourceClaim } from "#api/devices/resource-claim.ts";
import { type Informer } from "#runtime/informer.ts";

/**
 * The claims for extended resources of pods that are being created. One claim of a pod takes only what the pod has not
 * taken itself, so those that are created at the same moment must know of each other.
 */
export class ClaimsInFlight {
  /** By uid, with the key of the pod. */
  readonly #claims = new Map<string, { readonly key: string; readonly claim: ResourceClaim }>();

  constructor(claims: Informer<ResourceClaim>) {
    claims.subscribe(({ object }) => this.#claims.delete(object.metadata.uid));
  }

  of(key: string): readonly ResourceClaim[] {
    return [...this.#claims.values()].flatMap((one) => (one.key === key ? [one.claim] : []));
  }

  /** Remembers the claim until the cache knows it. Returns what to call if it is not written. */
  add(claim: ResourceClaim): () => void {
    const { uid } = claim.metadata;
    for (const key of extendedPodKeys(claim)) this.#claims.set(uid, { key, claim });
    return () => this.#claims.delete(uid);
  }
}
