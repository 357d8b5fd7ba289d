import { extendedPodKeys, ResourceClaim } from "#api/devices/resource-claim.ts";
import { type KnownObjects, type ObjectLookup } from "#api/quota/evaluator.ts";
import { type ApiObject, type Resource } from "#api/resource.ts";
import { type Clock } from "#lib/async/clock.ts";
import { type Informers } from "#runtime/informer.ts";

/**
 * Longer than it takes to write a claim and to hear of it. A claim that is deleted while the cache lists everything anew
 * causes no event, and must not be remembered for ever.
 */
const settleMs = 10_000;

interface InFlight {
  readonly claim: ResourceClaim;
  /** Of the pod. */
  readonly key: string;
  readonly untilMs: number;
}

/**
 * The claims for extended resources of pods that are being created. One claim of a pod takes only what the pod has not
 * taken itself, so those that are created at the same moment must know of each other.
 */
export class ClaimsInFlight implements ObjectLookup {
  readonly #informers: Informers;
  readonly #clock: Clock;
  /** By uid, the oldest first. */
  readonly #claims = new Map<string, InFlight>();

  constructor({ informers, clock }: { readonly informers: Informers; readonly clock: Clock }) {
    this.#informers = informers;
    this.#clock = clock;
    informers.of(ResourceClaim).subscribe(({ object }) => this.#claims.delete(object.metadata.uid));
  }

  /** What the caches know. The claims under a pod include those that are being created. */
  of<T extends ApiObject>(resource: Resource<T>): KnownObjects<T> {
    // The comparison shows that these objects are claims.
    if (isClaims(resource)) return this.#knownClaims() as unknown as KnownObjects<T>;
    return this.#informers.of(resource);
  }

  /** Remembers the claim until the cache knows it, or for a while. Returns what to call if it is not written. */
  add(claim: ResourceClaim): () => void {
    this.#forgetOld();
    const { uid } = claim.metadata;
    const untilMs = this.#clock.now() + settleMs;
    for (const key of extendedPodKeys(claim)) this.#claims.set(uid, { claim, key, untilMs });
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
    this.#forgetOld();
    return [...this.#claims.values()].flatMap((one) => (one.key === key ? [one.claim] : []));
  }

  #forgetOld(): void {
    const nowMs = this.#clock.now();
    for (const [uid, { untilMs }] of this.#claims) {
      if (untilMs > nowMs) return;
      this.#claims.delete(uid);
    }
  }
}

const isClaims = (resource: Pick<Resource, "group" | "plural">): boolean =>
  resource.plural === ResourceClaim.plural && resource.group === ResourceClaim.group;
