import { provisionedByAnnotation } from "#api/core/persistent-volume/binding.ts";
import { isGrowing } from "#api/core/persistent-volume/growth.ts";
import { PersistentVolume } from "#api/core/persistent-volume/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { type Reconciler, type ReconcilerDeps } from "#runtime/reconciler.ts";

/** Tells the user that a claim grows when the controller of its volume has done its part. */
export function volumeExpander({ informers, events }: ReconcilerDeps): Reconciler<PersistentVolumeClaim> {
  const volumes = informers.of(PersistentVolume);
  return {
    name: "persistentvolume-expander",
    reconciles: PersistentVolumeClaim,
    concerns: isGrowing,

    async reconcile(claim) {
      const volume = volumes.get({ name: claim.spec.volumeName ?? "" });
      if (!volume || volume.spec.claimRef?.uid !== claim.metadata.uid) return;
      const hasController = volume.spec.csi || volume.metadata.annotations?.[provisionedByAnnotation] !== undefined;
      const message = "waiting for an external controller to expand this PVC";
      events.event(claim, hasController ? "Normal" : "Warning", "ExternalExpanding", message);
    },
  };
}
