import { accessModes } from "#api/core/volume/access-modes.ts";
import { type Cursor } from "#api/cursor.ts";
import { ageColumn, column, wide } from "#api/meta/columns.ts";
import { conditionOf } from "#api/meta/condition.ts";
import { defineResource, type NamespacedObject, type ObjectOf } from "#api/resource.ts";
import { defaulted, embedded, granular, nullable, optional, present } from "#schema/fields.ts";
import { inPackage } from "#schema/schema.ts";
import { atomicList, known, listByKey, map, quantity, string, time } from "#schema/types.ts";
import { type ResourceList, roundToMillis } from "../container/resource-list.ts";
import { validateClaimSpec } from "../pod/validate/volumes/validate-volume-claim-spec.ts";
import { PersistentVolumeClaimSpec } from "../volume/volume-claim-spec.ts";
import { warnOfFraction } from "../volume/volume-warnings.ts";
import { prepareClaim } from "./claim-sources.ts";
import { validateClaimStatus, validateClaimUpdate } from "./validate-claim-update.ts";
import { classAnnotation, classNameOf, formatAccessModes } from "./volume-columns.ts";

const object = inPackage("core/v1");

const types = "such as Resizing or FileSystemResizePending";
const ClaimCondition = conditionOf("core/v1.PersistentVolumeClaimCondition", types, [4, 5, 6], {
  lastProbeTime: optional(3, time(), "When the condition was last checked."),
});

const ClaimStatus = object.filledBy(roundAmounts, "PersistentVolumeClaimStatus", "The observed state of a claim.", {
  phase: defaulted(
    1,
    known("Bound", "Lost", "Pending"),
    "Pending",
    "Phase of the claim: Pending, Bound, or Lost without its volume.",
  ),
  accessModes: optional(2, atomicList(known(...accessModes)), "How nodes and pods can access the volume of the claim."),
  capacity: optional(3, map(quantity()), "Size of the volume of the claim, as storage."),
  conditions: optional(4, listByKey("type", ClaimCondition), "Conditions of the claim, one for each type."),
  allocatedResources: optional(5, map(quantity()), "Size that the volume is growing to, as storage."),
  allocatedResourceStatuses: granular(
    optional(
      7,
      map(
        known(
          "ControllerResizeInProgress",
          "ControllerResizeInfeasible",
          "NodeResizeInProgress",
          "NodeResizeInfeasible",
          "NodeResizePending",
        ),
      ),
      "How far the growth of the volume is, by resource.",
    ),
  ),
  currentVolumeAttributesClassName: nullable(8, string(), "Name of the VolumeAttributesClass that is in effect."),
  modifyVolumeStatus: object.nullable(9, "ModifyVolumeStatus", "How far a change of the volume's attributes is.", {
    targetVolumeAttributesClassName: optional(1, string(), "Name of the VolumeAttributesClass that is being applied."),
    status: present(
      2,
      known("InProgress", "Infeasible", "Pending"),
      "How far the change is: Pending, InProgress or Infeasible.",
    ),
  }),
});

function roundAmounts(status: { capacity?: ResourceList; allocatedResources?: ResourceList }): void {
  if (status.capacity) roundToMillis(status.capacity);
  if (status.allocatedResources) roundToMillis(status.allocatedResources);
}

const fields = { spec: embedded(2, PersistentVolumeClaimSpec), status: embedded(3, ClaimStatus) };
type SentClaim = ObjectOf<typeof fields>;
export interface PersistentVolumeClaim extends NamespacedObject<typeof fields> {}

export const PersistentVolumeClaim = defineResource("v1.PersistentVolumeClaim", fields, {
  doc: "A request for a volume by the pods of a namespace.",
  shortNames: ["pvc"],
  returnsDeleted: true,
  withStatus: () => ({ phase: "Pending" }),
  columns: [
    column("Status", "Phase of the claim.", ({ metadata, status }) =>
      metadata.deletionTimestamp ? "Terminating" : status.phase,
    ),
    column("Volume", "Volume that the claim is bound to.", ({ spec }) => spec.volumeName ?? ""),
    column("Capacity", "Size of the volume.", ({ spec, status }) =>
      spec.volumeName ? (status.capacity?.storage ?? "0") : "",
    ),
    column("Access Modes", "How the volume can be accessed.", ({ spec, status }) =>
      spec.volumeName ? formatAccessModes(status.accessModes) : "",
    ),
    column("StorageClass", "Class of the claim.", ({ metadata, spec }) => classNameOf(metadata, spec.storageClassName)),
    column(
      "VolumeAttributesClass",
      "Class of its attributes.",
      ({ spec }) => spec.volumeAttributesClassName ?? "<unset>",
    ),
    ageColumn,
    wide(column("VolumeMode", "Whether it is a device or has files.", ({ spec }) => spec.volumeMode)),
  ],

  indexes: {
    attributesClass: ({ spec, status: { currentVolumeAttributesClassName: current, modifyVolumeStatus } = {} }) =>
      [spec.volumeAttributesClassName, current, modifyVolumeStatus?.targetVolumeAttributesClassName].flatMap(
        (name) => name || [],
      ),
    /** By the volume that it names. */
    volume: ({ spec }) => (spec.volumeName ? [spec.volumeName] : []),
    /** By its class, while it has no volume. */
    unbound: ({ metadata, spec }) => (spec.volumeName ? [] : [classNameOf(metadata, spec.storageClassName)]),
  },
  prepareForCreate: ({ spec }) => prepareClaim(spec, undefined),
  prepareForUpdate: ({ spec }, old) => prepareClaim(spec, old.spec),
  validate: (claim) => validateClaimSpec(claim.field("spec")),
  validateUpdate: validateClaimUpdate,
  validateStatusUpdate: validateClaimStatus,
  warnings: warnOfClaim,
});

function warnOfClaim(claim: Cursor<SentClaim>): void {
  if (claim.value.metadata.annotations?.[classAnnotation] !== undefined) {
    const at = claim.under("metadata", "annotations").key(classAnnotation, "");
    at.warn('deprecated since v1.8; use "storageClassName" attribute instead');
  }
  const resources = claim.field("spec").field("resources");
  warnOfFraction(resources.field("requests"), "storage");
  warnOfFraction(resources.field("limits"), "storage");
}
