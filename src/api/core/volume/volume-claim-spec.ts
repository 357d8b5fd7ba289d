import { LabelSelector } from "#api/meta/label-selector.ts";
import { ObjectMeta } from "#api/meta/object-meta.ts";
import { defaulted, nullable, optional, required } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { list, map, oneOf, quantity, string } from "#schema/types.ts";
import { TypedLocalObjectReference, TypedObjectReference } from "../references.ts";

const object = inPackage("core/v1");

export const VolumeResourceRequirements = object("VolumeResourceRequirements", "How large a volume is.", {
  limits: optional(1, map(quantity()), "The largest size."),
  requests: optional(2, map(quantity()), "The smallest size."),
});

export const PersistentVolumeClaimSpec = object("PersistentVolumeClaimSpec", "What kind of volume is asked for.", {
  accessModes: optional(
    1,
    list(oneOf("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")),
    "How the volume must be usable.",
  ),
  resources: defaulted(2, VolumeResourceRequirements, {}, "How large the volume must be."),
  volumeName: optional(3, string(), "The volume that is bound to the claim."),
  selector: nullable(4, LabelSelector, "Labels of the volumes that can be bound."),
  storageClassName: nullable(5, string(), "Name of the StorageClass; empty: none, absent: the default one."),
  volumeMode: defaulted(6, oneOf("Block", "Filesystem"), "Filesystem", "Block device or file system."),
  dataSource: nullable(7, TypedLocalObjectReference, "Snapshot or claim that the volume is filled from."),
  dataSourceRef: nullable(8, TypedObjectReference, "Any object from which the volume is filled."),
  volumeAttributesClassName: nullable(9, string(), "Name of the VolumeAttributesClass."),
});
export interface PersistentVolumeClaimSpec extends Infer<typeof PersistentVolumeClaimSpec> {}

export const PersistentVolumeClaimTemplate = object("PersistentVolumeClaimTemplate", "A claim to create.", {
  metadata: defaulted(1, ObjectMeta, {}, "Labels and annotations of the claim."),
  spec: required(2, PersistentVolumeClaimSpec, "What the claim asks for."),
});
export interface PersistentVolumeClaimTemplate extends Infer<typeof PersistentVolumeClaimTemplate> {}
