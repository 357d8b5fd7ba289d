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
  readonly #volumes: Promises = new Map();
  /** The node of each claim. */
  readonly #claims: Promises = new Map();
  /** Changes with every promise, so that decisions made before are not used again. */
  version = 0;

  of(pod: string): Assignment | undefined {
    return this.#byPod.get(pod);
  }

  nodeOf(claim: string): string | undefined {
    return this.#claims.get(claim)?.to;
  }

  isTaken(volume: string, claim: string): boolean {
    const taker = this.#volumes.get(volume)?.to;
    return taker !== undefined && taker !== claim;
  }

  add(pod: string, node: string, assignment: Assignment): void {
    this.version++;
    this.#byPod.set(pod, assignment);
    for (const { claim, volume } of assignment.matches) keep(this.#volumes, volume.metadata.name, claim.key);
    for (const { key } of claimsOf(assignment)) keep(this.#claims, key, node);
  }

  delete(pod: string): void {
    const assignment = this.#byPod.get(pod);
    if (!assignment) return;
    this.version++;
    this.#byPod.delete(pod);
    for (const { key } of claimsOf(assignment)) drop(this.#claims, key);
    for (const { volume } of assignment.matches) drop(this.#volumes, volume.metadata.name);
  }
}

/** What is promised, to whom, and how many pods rely on it. */
type Promises = Map<string, { readonly to: string; pods: number }>;

function keep(promises: Promises, what: string, to: string): void {
  const known = promises.get(what);
  if (known) known.pods++;
  else promises.set(what, { to, pods: 1 });
}

function drop(promises: Promises, what: string): void {
  const known = promises.get(what);
  if (known && --known.pods === 0) promises.delete(what);
}

export const claimsOf = ({ matches, provisions }: Assignment): readonly DelayedClaim[] => [
  ...matches.map(({ claim }) => claim),
  ...provisions,
];
