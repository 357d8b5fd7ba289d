import { Node } from "#api/core/node.ts";
import { type AllocationResult } from "#api/devices/claim-status.ts";
import { DeviceClass } from "#api/devices/device-class.ts";
import { ResourceClaim } from "#api/devices/resource-claim.ts";
import { ResourceSlice } from "#api/devices/resource-slice.ts";
import { equal } from "#lib/data/equal.ts";
import { type Change, type Informers } from "#runtime/informer.ts";
import { revisionOf } from "#runtime/object-cache.ts";
import { UsedDevices } from "./search/used-devices.ts";
import { SliceIndex } from "./slice-index.ts";

/** A reader that has missed more changes must look at all nodes again. */
const maxChanges = 4096;

/**
 * Which devices there are and which are used, as the caches say and as was decided meanwhile. A decision counts from
 * `decide` until the cache shows what was written, or `takeBack`.
 */
export class DeviceLedger {
  readonly slices = new SliceIndex();
  readonly used = new UsedDevices();
  readonly #informers: Informers;
  /** Claim uid → the revision of the written claim; 0 while it is not written. */
  readonly #pending = new Map<string, number>();
  #changes: string[] = [];
  #epoch = 0;

  constructor(informers: Informers) {
    this.#informers = informers;
  }

  /** Changes when all nodes have to be looked at again. */
  get epoch(): number {
    return this.#epoch;
  }

  /** How many changes of single nodes there were in this epoch. */
  get version(): number {
    return this.#changes.length;
  }

  /** The nodes that have changed since a version of this epoch. */
  changedSince(version: number): ReadonlySet<string> {
    return new Set(this.#changes.slice(version));
  }

  /** Follows the caches. Returns how to end it. */
  follow(): () => void {
    const stops = [
      this.#informers.of(ResourceSlice).subscribe((change) => this.#touch(this.slices.apply(change))),
      this.#informers.of(ResourceClaim).subscribe((change) => this.#onClaim(change)),
      this.#informers.of(DeviceClass).subscribe(() => this.#touch(undefined)),
      this.#informers.of(Node).subscribe((change) => {
        const { metadata } = change.object;
        const before = change.type === "put" ? change.previous?.metadata.labels : undefined;
        if (!equal(before, metadata.labels)) this.#touch(new Set([metadata.name]));
      }),
    ];
    return () => {
      for (const stop of stops) stop();
    };
  }

  isPending({ metadata }: ResourceClaim): boolean {
    return this.#pending.has(metadata.uid);
  }

  /** The claim gets these devices, unless it is taken back. */
  decide({ metadata }: ResourceClaim, allocation: AllocationResult): void {
    this.#pending.set(metadata.uid, 0);
    this.#use(metadata.uid, allocation);
  }

  /** The decision was stored, in this version of the claim. */
  wrote({ metadata }: ResourceClaim): void {
    if (!this.#pending.has(metadata.uid)) return;
    this.#pending.set(metadata.uid, revisionOf(metadata.resourceVersion));
    const seen = this.#informers.of(ResourceClaim).get(metadata);
    if (seen) this.#onClaim({ type: "put", object: seen, previous: undefined, trace: undefined });
  }

  /** The decision was not stored. */
  takeBack({ metadata }: ResourceClaim): void {
    if (this.#pending.get(metadata.uid) !== 0) return;
    this.#pending.delete(metadata.uid);
    const seen = this.#informers.of(ResourceClaim).get(metadata);
    this.#use(metadata.uid, seen?.metadata.uid === metadata.uid ? seen.status.allocation : undefined);
  }

  #onClaim({ type, object }: Change<ResourceClaim>): void {
    const { uid, resourceVersion } = object.metadata;
    if (type === "delete") {
      this.#pending.delete(uid);
      return this.#use(uid, undefined);
    }
    const written = this.#pending.get(uid);
    if (written !== undefined) {
      // The cache may show a claim from before the decision. It may also be faster than the answer to our write.
      const isOld = written === 0 ? !object.status.allocation : revisionOf(resourceVersion) < written;
      if (isOld) return;
      this.#pending.delete(uid);
    }
    this.#use(uid, object.status.allocation);
  }

  #use(claim: string, allocation: AllocationResult | undefined): void {
    for (const pool of this.used.set(claim, allocation)) this.#touch(this.slices.nodesOf(pool));
  }

  #touch(nodes: ReadonlySet<string> | undefined): void {
    if (nodes && this.#changes.length + nodes.size <= maxChanges) {
      this.#changes.push(...nodes);
      return;
    }
    this.#epoch++;
    this.#changes = [];
  }
}
