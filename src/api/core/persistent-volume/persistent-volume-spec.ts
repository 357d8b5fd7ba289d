import { accessModes } from "#api/core/volume/access-modes.ts";
import { granular, inline, nullable, optional } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { atomicList, known, map, quantity, string } from "#schema/types.ts";
import { type ResourceList, roundToMillis } from "../container/resource-list.ts";
import { NodeSelector } from "../pod/affinity.ts";
import { ObjectReference } from "../references.ts";
import { persistentSources } from "./persistent-sources.ts";

const object = inPackage("core/v1");

/** Only for comparisons: a spec has these fields itself. */
export const PersistentVolumeSource = object("PersistentVolumeSource", "Where the data is.", persistentSources);
export interface PersistentVolumeSource extends Infer<typeof PersistentVolumeSource> {}

export const VolumeNodeAffinity = object("VolumeNodeAffinity", "Which nodes can access a volume.", {
  required: nullable(1, NodeSelector, "Terms of which a node must match at least one to access the volume."),
});
export interface VolumeNodeAffinity extends Infer<typeof VolumeNodeAffinity> {}

export const PersistentVolumeSpec = object.filledBy(roundCapacity, "PersistentVolumeSpec", "What a volume is.", {
  capacity: optional(1, map(quantity()), "Size of the volume, as storage."),
  ...inline(2, persistentSources),
  accessModes: optional(
    3,
    atomicList(known(...accessModes)),
    "How nodes and pods can access the volume, such as ReadWriteOnce.",
  ),
  claimRef: granular(nullable(4, ObjectReference, "Claim that the volume is bound to.")),
  persistentVolumeReclaimPolicy: optional(
    5,
    known("Delete", "Recycle", "Retain"),
    "What becomes of the volume after use: Retain or Delete.",
  ),
  storageClassName: optional(6, string(), "Name of the StorageClass of the volume; empty for none."),
  mountOptions: optional(7, atomicList(string()), "Options with which the volume is mounted, such as ro."),
  volumeMode: nullable(
    8,
    known("Block", "Filesystem"),
    "Whether the volume is a device or has files: Block or Filesystem.",
  ),
  nodeAffinity: nullable(9, VolumeNodeAffinity, "Which nodes can access the volume; all of them if absent."),
  volumeAttributesClassName: nullable(10, string(), "Name of the VolumeAttributesClass of the volume."),
});
export interface PersistentVolumeSpec extends Infer<typeof PersistentVolumeSpec> {}

function roundCapacity({ capacity }: { capacity?: ResourceList }): void {
  if (capacity) roundToMillis(capacity);
}
