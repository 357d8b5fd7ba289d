import { type PersistentVolume } from "#api/core/persistent-volume/persistent-volume.ts";
import { provisionerFinalizer } from "./plan-provision.ts";

/** What becomes of a volume that nobody uses; `none` while somebody may. */
export type RemovalPlan = "none" | "remove data" | "release";

/** Data goes only with a volume that was released or deleted, and never because something is missing. */
export function planRemoval({ metadata, spec, status }: PersistentVolume): RemovalPlan {
  if (!metadata.finalizers?.includes(provisionerFinalizer) || status.phase === "Bound") return "none";
  const isReleased = status.phase === "Released" || status.phase === "Failed";
  if (spec.persistentVolumeReclaimPolicy === "Delete") {
    return isReleased || metadata.deletionTimestamp ? "remove data" : "none";
  }
  return metadata.deletionTimestamp ? "release" : "none";
}
