import { LabelSelector } from "#api/meta/label-selector.ts";
import { dns1123Subdomain } from "#api/meta/names.ts";
import { ObjectMeta } from "#api/meta/object-meta.ts";
import { defaulted, embedded, inGo, nullable, optional, required } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { atomicList, known, map, oneOf, quantity, string } from "#schema/types.ts";
import { type ResourceList, roundToMillis } from "../container/resource-list.ts";
import { TypedLocalObjectReference, TypedObjectReference } from "../references.ts";
import { accessModes } from "./access-modes.ts";

const object = inPackage("core/v1");
const className = string(dns1123Subdomain);

const VolumeResourceRequirements = object.filledBy(roundAmounts, "VolumeResourceRequirements", "Size of the volume.", {
  limits: optional(1, map(quantity()), "Maximum size of the volume, as storage."),
  requests: optional(2, map(quantity()), "Minimum size of the volume, as storage."),
});

function roundAmounts({ limits, requests }: { limits?: ResourceList; requests?: ResourceList }): void {
  if (limits) roundToMillis(limits);
  if (requests) roundToMillis(requests);
}

export const PersistentVolumeClaimSpec = object("PersistentVolumeClaimSpec", "The volume that a claim asks for.", {
  accessModes: optional(1, atomicList(known(...accessModes)), "How nodes and pods must be able to access the volume."),
  resources: embedded(2, VolumeResourceRequirements),
  volumeName: optional(3, string(), "Name of the PersistentVolume that is bound to the claim."),
  selector: nullable(4, LabelSelector, "Selects the volumes that can be bound to the claim, by label."),
  storageClassName: nullable(5, className, "Name of the StorageClass; empty for none, absent for the default class."),
  volumeMode: inGo(
    { isPointer: true },
    defaulted(6, oneOf("Block", "Filesystem"), "Filesystem", "Whether the volume is a device or has files."),
  ),
  dataSource: nullable(7, TypedLocalObjectReference, "VolumeSnapshot or claim whose content the volume gets."),
  dataSourceRef: nullable(8, TypedObjectReference, "Object of any kind whose content the volume gets."),
  volumeAttributesClassName: nullable(9, className, "Name of the VolumeAttributesClass of the claim."),
});
export interface PersistentVolumeClaimSpec extends Infer<typeof PersistentVolumeClaimSpec> {}

export const PersistentVolumeClaimTemplate = object(
  "PersistentVolumeClaimTemplate",
  "A claim that is created for a pod.",
  {
    metadata: defaulted(1, ObjectMeta, {}, "Labels and annotations of the claim."),
    spec: required(2, PersistentVolumeClaimSpec),
  },
);
export interface PersistentVolumeClaimTemplate extends Infer<typeof PersistentVolumeClaimTemplate> {}
