import { type PersistentVolume } from "#api/core/persistent-volume/persistent-volume.ts";
import { type DelayedClaim } from "./pod-claims.ts";

/** What the claims of a pod get on its node. */
export interface Assignment {
  /** Volumes that exist. */
  readonly matches: readonly { readonly claim: DelayedClaim; readonly volume: PersistentVolume }[];
  /** Claims for which a volume is made. */
  readonly provisions: readonly DelayedClaim[];
}

/** What was decided for pods and is not yet visible in the caches. */
export class Reservations {
  readonly #byPod = new Map<string, Assignment>();
  /** The claim that each volume is promised to. */
  readonly #volumes = new Map<string, string>();
  /** The node of each claim, and how many pods rely on it. */
  readonly #claims = new Map<string, { readonly node: string; pods: number }>();
  /** Changes with every promise, so that decisions made before are not used again. */
  version = 0;

  of(pod: string): Assignment | undefined {
    return this.#byPod.get(pod);
  }

  nodeOf(claim: string): string | undefined {
    return this.#claims.get(claim)?.node;
  }

  isTaken(volume: string, claim: string): boolean {
    const taker = this.#volumes.get(volume);
    return taker !== undefined && taker !== claim;
  }

  add(pod: string, node: string, assignment: Assignment): void {
    this.version++;
    this.#byPod.set(pod, assignment);
    for (const { claim, volume } of assignment.matches) this.#volumes.set(volume.metadata.name, claim.key);
    for (const { key } of claimsOf(assignment)) {
      const known = this.#claims.get(key);
      if (known) known.pods++;
      else this.#claims.set(key, { node, pods: 1 });
    }
  }

  delete(pod: string): void {
    const assignment = this.#byPod.get(pod);
    if (!assignment) return;
    this.version++;
    this.#byPod.delete(pod);
    for (const { volume } of assignment.matches) this.#volumes.delete(volume.metadata.name);
    for (const { key } of claimsOf(assignment)) {
      const known = this.#claims.get(key);
      if (known && --known.pods === 0) this.#claims.delete(key);
    }
  }
}

export const claimsOf = ({ matches, provisions }: Assignment): readonly DelayedClaim[] => [
  ...matches.map(({ claim }) => claim),
  ...provisions,
];
