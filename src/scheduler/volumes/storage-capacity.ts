import { type Node } from "#api/core/node.ts";
import { type PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { matchesRequirements, type Requirement, requirementsOf } from "#api/meta/label-selector.ts";
import { compareQuantities } from "#api/meta/quantity.ts";
import { CSIDriver } from "#api/storage/csi-driver.ts";
import { CSIStorageCapacity } from "#api/storage/csi-storage-capacity.ts";
import { type StorageClass } from "#api/storage/storage-class.ts";
import { own } from "#lib/data/own.ts";
import { type Informers } from "#runtime/informer.ts";

/** The storage that a class has for some nodes. */
interface Room {
  readonly requirements: readonly Requirement[];
  /** The size of the largest volume that can be made. */
  readonly largest: string;
}

/**
 * The rooms of a class, by one label that their nodes must have. Drivers with local disks report one for each node, so
 * no node may look at all of them:
 *
 *   byLabel   topology.example.org/node  →  node-1 → [room]
 *                                           node-2 → [room]
 *   others    rooms that no single label decides
 */
interface Rooms {
  readonly revision: number;
  readonly byLabel: ReadonlyMap<string, ReadonlyMap<string, readonly Room[]>>;
  readonly others: readonly Room[];
}

const maxClasses = 256;

/** How much storage CSI drivers have reported for the nodes. */
export class StorageCapacity {
  readonly #informers: Informers;
  readonly #rooms = new Map<string, Rooms>();

  constructor(informers: Informers) {
    this.#informers = informers;
  }

  /** What decides whether a claim has room; undefined if its driver reports nothing. */
  partsOf(claim: PersistentVolumeClaim, storageClass: StorageClass): unknown {
    if (!this.#counts(storageClass)) return undefined;
    return [claim.spec.resources?.requests?.storage, this.#informers.of(CSIStorageCapacity).revision];
  }

  /** A claim without a size, and one of a driver that reports nothing, always have room. */
  hasRoom(claim: PersistentVolumeClaim, storageClass: StorageClass, { metadata: { labels } }: Node): boolean {
    const size = claim.spec.resources?.requests?.storage;
    if (size === undefined || !this.#counts(storageClass)) return true;
    const { byLabel, others } = this.#of(storageClass.metadata.name);
    const isEnough = ({ requirements, largest }: Room): boolean =>
      compareQuantities(largest, size) >= 0 && matchesRequirements(requirements, labels);
    if (others.some(isEnough)) return true;
    for (const [key, byValue] of byLabel) if (byValue.get(own(labels, key) ?? "")?.some(isEnough)) return true;
    return false;
  }

  #counts({ provisioner: name }: StorageClass): boolean {
    return this.#informers.of(CSIDriver).get({ name })?.spec.storageCapacity ?? false;
  }

  #of(storageClass: string): Rooms {
    const capacities = this.#informers.of(CSIStorageCapacity);
    const known = this.#rooms.get(storageClass);
    if (known?.revision === capacities.revision) return known;
    if (this.#rooms.size >= maxClasses) this.#rooms.clear();
    const rooms = { ...arrange(capacities.by("class", storageClass)), revision: capacities.revision };
    this.#rooms.set(storageClass, rooms);
    return rooms;
  }
}

function arrange(capacities: readonly CSIStorageCapacity[]): Omit<Rooms, "revision"> {
  const byLabel = new Map<string, Map<string, Room[]>>();
  const others: Room[] = [];
  for (const { nodeTopology, capacity, maximumVolumeSize } of capacities) {
    const largest = maximumVolumeSize ?? capacity;
    // Storage without a topology cannot be reached from any node.
    if (!nodeTopology || largest === undefined) continue;
    const room = { requirements: requirementsOf(nodeTopology), largest };
    const [label] = Object.entries(nodeTopology.matchLabels ?? {});
    if (!label) {
      others.push(room);
      continue;
    }
    const byValue = byLabel.get(label[0]) ?? new Map<string, Room[]>();
    byLabel.set(label[0], byValue);
    const rooms = byValue.get(label[1]);
    if (rooms) rooms.push(room);
    else byValue.set(label[1], [room]);
  }
  return { byLabel, others };
}
