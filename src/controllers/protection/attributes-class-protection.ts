import { PersistentVolume } from "#api/core/persistent-volume/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { type ApiObject } from "#api/resource.ts";
import { VolumeAttributesClass } from "#api/storage/volume-attributes-class.ts";
import { attributesClassProtectionFinalizer } from "#api/well-known.ts";
import { type Change, type Informer } from "#runtime/informer.ts";
import { revisionOf } from "#runtime/object-cache.ts";
import { type Reconciler, type ReconcilerDeps, type Wake, watch } from "#runtime/reconciler.ts";
import { protect } from "./protect.ts";

const index = "attributesClass";

/** A VolumeAttributesClass stays until no volume and no claim names it. */
export function attributesClassProtectionController(deps: ReconcilerDeps): Reconciler<VolumeAttributesClass> {
  const claims = deps.informers.of(PersistentVolumeClaim);
  const volumes = deps.informers.of(PersistentVolume);
  return protect(deps, {
    name: "volumeattributesclass-protection",
    resource: VolumeAttributesClass,
    finalizer: attributesClassProtectionFinalizer,
    watches: [
      watch(PersistentVolumeClaim, (change) => released(change, claims)),
      watch(PersistentVolume, (change) => released(change, volumes)),
    ],
    async isUsed({ metadata: { name, resourceVersion } }, signal) {
      const revision = revisionOf(resourceVersion);
      await Promise.all([claims.caughtUpTo(revision, signal), volumes.caughtUpTo(revision, signal)]);
      return claims.by(index, name).length > 0 || volumes.by(index, name).length > 0;
    },
  });
}

/** The classes that an object named before the change and does not name now. */
function released<T extends ApiObject>(change: Change<T>, { resource }: Informer<T>): Wake[] {
  const namesOf = (object: T | undefined): readonly string[] =>
    object ? (resource.indexes[index]?.(object) ?? []) : [];
  if (change.type === "delete") return namesOf(change.object).map((name) => ({ name }));
  const kept = new Set(namesOf(change.object));
  return namesOf(change.previous).flatMap((name) => (kept.has(name) ? [] : { name }));
}
