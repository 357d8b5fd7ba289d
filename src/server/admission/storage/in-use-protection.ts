import { PersistentVolume } from "#api/core/persistent-volume/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { VolumeAttributesClass } from "#api/storage/volume-attributes-class.ts";
import {
  attributesClassProtectionFinalizer,
  claimProtectionFinalizer,
  volumeProtectionFinalizer,
} from "#api/well-known.ts";
import { isWriteOf } from "../object-of.ts";
import { type AdmissionPlugin, type WriteType } from "../plugin.ts";

/** Keeps new volumes, claims and attribute classes from being removed while they are used; controllers release them. */
export const inUseProtection: AdmissionPlugin = {
  name: "StorageObjectInUseProtection",
  appliesTo: (request) => request.operation === "CREATE" && finalizerFor(request) !== undefined,

  mutate(request) {
    const finalizer = finalizerFor(request);
    const metadata = request.object?.metadata;
    if (!finalizer || !metadata || metadata.finalizers?.includes(finalizer)) return;
    metadata.finalizers = [...(metadata.finalizers ?? []), finalizer];
  },
};

function finalizerFor(request: WriteType): string | undefined {
  if (isWriteOf(PersistentVolumeClaim, request)) return claimProtectionFinalizer;
  if (isWriteOf(PersistentVolume, request)) return volumeProtectionFinalizer;
  return isWriteOf(VolumeAttributesClass, request) ? attributesClassProtectionFinalizer : undefined;
}
