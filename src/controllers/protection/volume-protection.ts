import { PersistentVolume } from "#api/core/persistent-volume/persistent-volume.ts";
import { volumeProtectionFinalizer } from "#api/well-known.ts";
import { type Reconciler, type ReconcilerDeps } from "#runtime/reconciler.ts";
import { protect } from "./protect.ts";

/** A volume stays until it is not bound any more. */
export const volumeProtectionController = (deps: ReconcilerDeps): Reconciler<PersistentVolume> =>
  protect(deps, {
    name: "persistentvolume-protection",
    resource: PersistentVolume,
    finalizer: volumeProtectionFinalizer,
    isUsed: ({ status }) => status.phase === "Bound",
  });
