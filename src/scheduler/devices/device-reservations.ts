import { Pod } from "#api/core/pod.ts";
import { type AllocationResult } from "#api/devices/claim-status.ts";
import { type ResourceClaim } from "#api/devices/resource-claim.ts";
import { ignoreNotFound } from "#api/status.ts";
import { hasConditions } from "./binding-conditions.ts";
import { type DeviceLedger } from "./device-ledger.ts";
import { hasNote } from "./extended/class-for.ts";
import { type ExtendedClaim } from "./extended/extended-wants.ts";
import { clearNote, createClaim, deleteClaim, noteClaim } from "./extended/write-extended.ts";
import { isReservedFor } from "./pod-claims.ts";
import { unreserve, type WriteDeps, writeClaim } from "./write-claim.ts";

/** What a pod was given, until it is bound. */
export interface Reservation {
  readonly claim: ResourceClaim;
  readonly allocation: AllocationResult | undefined;
  written: ResourceClaim | undefined;
  /** Set if the claim exists only here until it is stored. */
  readonly extended?: ExtendedClaim;
  created?: ResourceClaim;
}

/** What pods were given on their nodes: stored before they are bound, and undone if they are not. */
export class DeviceReservations {
  readonly #deps: WriteDeps;
  readonly #ledger: DeviceLedger;
  /** By the uid of the pod. */
  readonly #reservations = new Map<string, readonly Reservation[]>();

  constructor(deps: WriteDeps, ledger: DeviceLedger) {
    this.#deps = deps;
    this.#ledger = ledger;
  }

  set({ metadata }: Pod, reservations: readonly Reservation[]): void {
    this.#reservations.set(metadata.uid, reservations);
  }

  has({ metadata }: Pod): boolean {
    return this.#reservations.has(metadata.uid);
  }

  /** Stores what was reserved. Returns undefined if nothing has to be stored. */
  store(pod: Pod, signal: AbortSignal): Promise<void> | undefined {
    const reservations = this.#reservations.get(pod.metadata.uid) ?? [];
    const toStore = reservations.filter(({ claim, extended }) => extended || !isReservedFor(claim, pod));
    const isOutdated = hasNote(pod) && !toStore.some(({ extended }) => extended);
    return toStore.length > 0 || isOutdated ? this.#store(toStore, { pod, isOutdated, signal }) : undefined;
  }

  async #store(
    reservations: readonly Reservation[],
    { pod, isOutdated, signal }: { readonly pod: Pod; readonly isOutdated: boolean; readonly signal: AbortSignal },
  ): Promise<void> {
    if (isOutdated) await clearNote(this.#deps.client, pod, signal);
    for (const reservation of reservations) {
      const { claim, allocation, extended } = reservation;
      if (extended) await this.#storeExtended(reservation, extended, { pod, signal });
      else {
        reservation.written = await writeClaim(this.#deps, { claim, pod, allocation }, signal);
        this.#ledger.wrote(reservation.written);
      }
    }
  }

  async #storeExtended(
    reservation: Reservation,
    extended: ExtendedClaim,
    { pod, signal }: { readonly pod: Pod; readonly signal: AbortSignal },
  ): Promise<void> {
    const { client } = this.#deps;
    const { claim, allocation } = reservation;
    const created = await createClaim(client, extended, signal);
    reservation.created = created;
    if (allocation) this.#ledger.decide(created, allocation);
    this.#ledger.takeBack(claim);
    reservation.written = await writeClaim(this.#deps, { claim: created, pod, allocation }, signal);
    this.#ledger.wrote(reservation.written);
    await noteClaim({ client, signal }, pod, { ...extended, claim: created });
  }

  /** The stored claims of a pod whose devices have to become ready. */
  waitsFor(pod: Pod): ResourceClaim[] {
    const claims = this.#reservations.get(pod.metadata.uid)?.map(({ claim, written }) => written ?? claim) ?? [];
    return claims.filter(hasConditions);
  }

  /** The pod is bound. */
  done({ metadata }: Pod): void {
    this.#reservations.delete(metadata.uid);
  }

  /** The pod is not bound. */
  async undo(pod: Pod): Promise<void> {
    const reservations = this.#reservations.get(pod.metadata.uid) ?? [];
    this.#reservations.delete(pod.metadata.uid);
    // First what cannot fail: otherwise devices would be lost while the server is down.
    for (const { claim, allocation, written, created } of reservations) {
      if (allocation && !written) this.#ledger.takeBack(created ?? claim);
    }
    const undone = await Promise.allSettled(reservations.map((one) => this.#undoOne(one, pod)));
    for (const one of undone) if (one.status === "rejected") throw one.reason;
  }

  async #undoOne({ claim, written, created, extended }: Reservation, pod: Pod): Promise<void> {
    if (created) return await this.#deleteUnused(created, pod);
    if (!extended && (written || isReservedFor(claim, pod))) await unreserve(this.#deps, claim, pod);
  }

  /** Upstream deletes the claim even if the pod was bound and only the answer was lost. */
  async #deleteUnused(claim: ResourceClaim, { metadata, spec }: Pod): Promise<void> {
    const { client } = this.#deps;
    const actual = await client.get(Pod, metadata).catch(ignoreNotFound);
    if (actual?.metadata.uid === metadata.uid && actual.spec.nodeName && !spec.nodeName) return;
    await deleteClaim(client, claim);
  }
}
