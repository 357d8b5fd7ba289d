import {
  defaulted,
  type Infer,
  list,
  map,
  nullable,
  object,
  oneOf,
  optional,
  quantity,
  required,
  string,
} from "#schema/schema.ts";
import { LabelSelector } from "../meta/label-selector.ts";
import { ObjectMeta } from "../meta/object-meta.ts";
import { TypedLocalObjectReference, TypedObjectReference } from "./references.ts";

export const VolumeResourceRequirements = object(
  "core/v1.VolumeResourceRequirements",
  {
    limits: optional(1, map(quantity()), "The largest size."),
    requests: optional(2, map(quantity()), "The smallest size."),
  },
  { doc: "How large a volume is." },
);
export interface VolumeResourceRequirements extends Infer<typeof VolumeResourceRequirements> {}

export const PersistentVolumeClaimSpec = object(
  "core/v1.PersistentVolumeClaimSpec",
  {
    accessModes: optional(
      1,
      list(oneOf("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")),
      "How the volume must be usable.",
    ),
    resources: defaulted(2, VolumeResourceRequirements, {}, "How large the volume must be."),
    volumeName: optional(3, string(), "The volume that is bound to the claim."),
    selector: nullable(4, LabelSelector, "Labels of the volumes that can be bound."),
    storageClassName: nullable(
      5,
      string(),
      "Class of the volume; empty asks for one without class, absent for the default class.",
    ),
    volumeMode: defaulted(
      6,
      oneOf("Block", "Filesystem"),
      "Filesystem",
      "Whether a file system or a raw device is wanted.",
    ),
    dataSource: nullable(
      7,
      TypedLocalObjectReference,
      "A snapshot or claim of the same namespace from which the volume is filled.",
    ),
    dataSourceRef: nullable(8, TypedObjectReference, "Any object from which the volume is filled."),
    volumeAttributesClassName: nullable(
      9,
      string(),
      "Class of attributes that can be changed while the volume is in use.",
    ),
  },
  { doc: "What kind of volume is asked for." },
);
export interface PersistentVolumeClaimSpec extends Infer<typeof PersistentVolumeClaimSpec> {}

export const PersistentVolumeClaimTemplate = object(
  "core/v1.PersistentVolumeClaimTemplate",
  {
    metadata: defaulted(1, ObjectMeta, {}, "Labels and annotations of the claim."),
    spec: required(2, PersistentVolumeClaimSpec, "What the claim asks for."),
  },
  { doc: "A claim that is made for a pod." },
);
export interface PersistentVolumeClaimTemplate extends Infer<typeof PersistentVolumeClaimTemplate> {}
