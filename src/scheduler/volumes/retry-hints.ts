import { PersistentVolume } from "#api/core/persistent-volume/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { claimNamesOf } from "#api/core/pod/pod-references.ts";
import { compareQuantities } from "#api/meta/quantity.ts";
import { CSIDriver } from "#api/storage/csi-driver.ts";
import { CSIStorageCapacity } from "#api/storage/csi-storage-capacity.ts";
import { equal } from "#lib/data/equal.ts";
import { hint } from "../framework.ts";

/** One of the pod's own claims has changed. */
export const claimHint = hint(PersistentVolumeClaim, (pod, { type, object }) => {
  const isNear = type === "put" && pod.metadata.namespace === object.metadata.namespace;
  return isNear && claimNamesOf(pod).includes(object.metadata.name);
});

/** There is a new volume, or one has changed in more than its conditions. */
export const volumeHint = hint(PersistentVolume, (_pod, change) => {
  if (change.type === "delete") return false;
  const { object, previous } = change;
  if (!previous || previous.status.phase !== object.status.phase) return true;
  return !equal(previous.spec, object.spec) || !equal(previous.metadata.labels, object.metadata.labels);
});

/** A driver has reported new storage, or more than before. */
export const capacityHint = hint(CSIStorageCapacity, (_pod, change) => {
  if (change.type === "delete") return false;
  const { object, previous } = change;
  if (!previous) return true;
  const grows = (now: string | undefined, before: string | undefined): boolean =>
    now !== undefined && compareQuantities(now, before ?? "0") > 0;
  return grows(object.capacity, previous.capacity) || grows(object.maximumVolumeSize, previous.maximumVolumeSize);
});

/** The storage that a driver reports no longer counts. */
export const driverHint = hint(CSIDriver, (_pod, change) => {
  if (change.type === "delete") return true;
  return (change.previous?.spec.storageCapacity ?? false) && !change.object.spec.storageCapacity;
});
