import { Service } from "#api/core/service.ts";
import { type Clock } from "#lib/async/clock.ts";
import { type Random } from "#lib/data/random.ts";
import { type Informer } from "#runtime/informer.ts";
import { type Beside } from "#server/objects/beside.ts";
import { type ClaimInformers, claimOf, newClaim } from "./claim-objects.ts";
import { heldBy, isIpKey, type Key, nameOfClaim } from "./held.ts";
import { type UsableRanges } from "./usable-ranges.ts";

export interface Pool extends ClaimInformers {
  readonly ranges: UsableRanges;
  readonly nodePorts: { readonly min: number; readonly max: number };
  readonly random: Random;
  readonly clock: Clock;
  /** What the services hold, so that a claim which somebody deleted by hand is not given to another service. */
  readonly held: ReadonlyMap<Key, number>;
  /** What pending writes have claimed. */
  readonly underway: Set<Key>;
}

/** The claims of one write. What its service already has needs no claim. */
export class Claims {
  readonly #pool: Pool;
  readonly #old: Service | undefined;
  readonly #own: ReadonlySet<Key>;
  readonly #claimed = new Set<Key>();
  readonly #undo: (() => void)[] = [];

  constructor(pool: Pool, old: Service | undefined) {
    this.#pool = pool;
    this.#old = old;
    this.#own = old ? heldBy(old) : nothing;
  }

  has(key: Key): boolean {
    return this.#own.has(key) || this.#claimed.has(key);
  }

  /** Returns false if another service has it. */
  take(key: Key): boolean {
    return this.has(key) || this.takeNew(key);
  }

  takeNew(key: Key): boolean {
    if (this.has(key) || isTaken(this.#pool, key)) return false;
    this.#pool.underway.add(key);
    this.#claimed.add(key);
    return true;
  }

  /** How to take back what was filled in. */
  onUndo(undo: () => void): void {
    this.#undo.push(undo);
  }

  undo(): void {
    for (const undo of this.#undo) undo();
  }

  /** The write has ended: either the service holds what was claimed, or nobody does. */
  release(): void {
    for (const key of this.#claimed) this.#pool.underway.delete(key);
  }

  /** What is written together with the service. */
  beside(service: Service): Beside | undefined {
    const { clock } = this.#pool;
    const create = [...this.#claimed].map((key) => newClaim(key, service, clock.now()));
    const remove = this.#old ? releasesOf(this.#pool, this.#old, heldBy(service)) : [];
    return create.length + remove.length > 0 ? { create, remove } : undefined;
  }
}
const nothing: ReadonlySet<Key> = new Set();

/** The claims of a service that it does not need any more. */
export const releasesOf = (claims: ClaimInformers, service: Service, kept = nothing): Beside["remove"] =>
  [...heldBy(service)].flatMap((key) => (kept.has(key) ? [] : (claimOf(claims, key, service) ?? [])));

function isTaken({ held, underway, addresses, ports }: Pool, key: Key): boolean {
  if (held.has(key) || underway.has(key)) return true;
  const claims: Informer = isIpKey(key) ? (addresses as unknown as Informer) : (ports as unknown as Informer);
  return claims.get({ name: nameOfClaim(key) }) !== undefined;
}

/** Counted, because two services may have the same value for a moment. */
export function heldByServices(services: Informer<Service>): Map<Key, number> {
  const held = new Map<Key, number>();
  const count = (service: Service | undefined, by: number): void => {
    for (const key of service ? heldBy(service) : []) {
      const left = (held.get(key) ?? 0) + by;
      if (left > 0) held.set(key, left);
      else held.delete(key);
    }
  };
  services.subscribe((change) => {
    count(change.object, change.type === "put" ? 1 : -1);
    if (change.type === "put") count(change.previous, -1);
  });
  return held;
}
