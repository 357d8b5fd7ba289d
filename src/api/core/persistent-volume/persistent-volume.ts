import { type Cursor } from "#api/cursor.ts";
import { ageColumn, column, wide } from "#api/meta/columns.ts";
import { type ClusterObject, defineResource, type ObjectOf } from "#api/resource.ts";
import { timestamp } from "#lib/async/clock.ts";
import { defaulted, embedded, nullable, optional } from "#schema/fields.ts";
import { inPackage } from "#schema/schema.ts";
import { known, string, time } from "#schema/types.ts";
import { warnOfTerm } from "../pod/pod-warnings.ts";
import { retiredSources } from "../volume/volume-warnings.ts";
import { PersistentVolumeSpec } from "./persistent-volume-spec.ts";
import { validatePersistentVolumeChange, validatePersistentVolumeSpec } from "./validate-persistent-volume.ts";
import { classAnnotation, classNameOf, formatAccessModes } from "./volume-columns.ts";

const object = inPackage("core/v1");

const fields = {
  spec: embedded(2, PersistentVolumeSpec),
  status: object.embedded(3, "PersistentVolumeStatus", "The observed state of a volume.", {
    phase: defaulted(
      1,
      known("Available", "Bound", "Failed", "Pending", "Released"),
      "Pending",
      "Phase of the volume: Pending, Available, Bound, Released or Failed.",
    ),
    message: optional(2, string(), "Why the volume is in its phase, for people."),
    reason: optional(3, string(), "Why the volume is in its phase, as one CamelCase word."),
    lastPhaseTransitionTime: nullable(4, time(), "When the phase of the volume last changed."),
  }),
};
type SentVolume = ObjectOf<typeof fields>;
export interface PersistentVolume extends ClusterObject<typeof fields> {}

export const PersistentVolume = defineResource("v1.PersistentVolume", fields, {
  doc: "A volume of the cluster that outlives pods. A claim is bound to it.",
  shortNames: ["pv"],
  scope: "Cluster",
  returnsDeleted: true,
  withStatus: ({ metadata: { creationTimestamp: now } }) => ({
    phase: "Pending",
    ...(now ? { lastPhaseTransitionTime: now } : {}),
  }),
  columns: [
    column("Capacity", "Size of the volume.", ({ spec }) => spec.capacity?.storage ?? "0"),
    column("Access Modes", "How the volume can be accessed.", ({ spec }) => formatAccessModes(spec.accessModes)),
    column("Reclaim Policy", "What happens after use.", ({ spec }) => spec.persistentVolumeReclaimPolicy ?? ""),
    column("Status", "Phase of the volume.", ({ metadata, status }) =>
      metadata.deletionTimestamp ? "Terminating" : status.phase,
    ),
    column("Claim", "Claim that the volume is bound to.", ({ spec: { claimRef } }) =>
      claimRef ? `${claimRef.namespace ?? ""}/${claimRef.name ?? ""}` : "",
    ),
    column("StorageClass", "Class of the volume.", ({ metadata, spec }) =>
      classNameOf(metadata, spec.storageClassName),
    ),
    column(
      "VolumeAttributesClass",
      "Class of its attributes.",
      ({ spec }) => spec.volumeAttributesClassName ?? "<unset>",
    ),
    column("Reason", "Why the volume is in its phase.", ({ status }) => status.reason ?? ""),
    ageColumn,
    wide(column("VolumeMode", "Whether it is a device or has files.", ({ spec }) => spec.volumeMode ?? "<unset>")),
  ],

  indexes: {
    attributesClass: ({ spec }) => (spec.volumeAttributesClassName ? [spec.volumeAttributesClassName] : []),
    /** By the claim that it names: `namespace/name`. */
    claim: ({ spec: { claimRef } }) => (claimRef ? [`${claimRef.namespace ?? ""}/${claimRef.name ?? ""}`] : []),
    /** By its class, if it can be bound to any claim. */
    available: ({ metadata, spec, status }) =>
      spec.claimRef || status?.phase !== "Available" ? [] : [classNameOf(metadata, spec.storageClassName)],
  },
  // A volume that is given inline in another kind does not get these.
  defaults({ spec }) {
    spec.persistentVolumeReclaimPolicy ??= "Retain";
    spec.volumeMode ??= "Filesystem";
  },
  prepareForStatusUpdate({ status }, { status: old }, writer) {
    const { phase, lastPhaseTransitionTime: sent } = status;
    const { lastPhaseTransitionTime: before } = old;
    const isSame = !sent || (before && Date.parse(sent) === Date.parse(before));
    if (phase === old.phase) {
      if (!sent && before) status.lastPhaseTransitionTime = before;
    } else if (isSame && writer) status.lastPhaseTransitionTime = timestamp(writer.now);
  },
  validate(volume) {
    validatePersistentVolumeSpec(volume.field("spec"), volume.value.metadata.name ?? "");
    validateMountOptions(volume);
  },
  validateUpdate: validatePersistentVolumeChange,
  warnings: warnOfVolume,
});

const mountOptionsAnnotation = "volume.beta.kubernetes.io/mount-options";
/** Sources that take mount options. */
const mountedSources = [
  "gcePersistentDisk",
  "awsElasticBlockStore",
  "glusterfs",
  "nfs",
  "rbd",
  "quobyte",
  "iscsi",
  "cinder",
  "cephfs",
  "azureFile",
  "vsphereVolume",
  "azureDisk",
  "photonPersistentDisk",
] as const;

function validateMountOptions(volume: Cursor<SentVolume>): void {
  const { metadata, spec } = volume.value;
  if (metadata.annotations?.[mountOptionsAnnotation] === undefined) return;
  const isMounted = mountedSources.some((name) => spec[name] !== undefined);
  if (isMounted) return;
  const at = volume.under("metadata", "annotations", mountOptionsAnnotation);
  at.forbidden("may not specify mount options for this volume type");
}

const deprecatedAnnotations = [
  [classAnnotation, 'deprecated since v1.8; use "storageClassName" attribute instead'],
  [mountOptionsAnnotation, 'deprecated since v1.31; use "mountOptions" attribute instead'],
] as const;
const retired = new Map<string, string>(retiredSources);

function warnOfVolume(volume: Cursor<SentVolume>): void {
  const { metadata, spec } = volume.value;
  for (const [key, text] of deprecatedAnnotations) {
    if (metadata.annotations?.[key] !== undefined) volume.under("metadata", "annotations").key(key, text).warn(text);
  }
  const at = volume.field("spec");
  if (spec.persistentVolumeReclaimPolicy === "Recycle") {
    at.field("persistentVolumeReclaimPolicy").warn(
      "The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.",
    );
  }
  at.on("nodeAffinity", (at) =>
    at.on("required", (at) => at.each("nodeSelectorTerms", (at) => warnOfTerm(at, "keys"))),
  );
  for (const name of ["cephfs", "photonPersistentDisk", "scaleIO", "storageos", "glusterfs", "rbd"] as const) {
    if (spec[name]) at.under(name === "storageos" ? "storageOS" : name).warn(retired.get(name) ?? "");
  }
}
