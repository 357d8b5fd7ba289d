import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { classAnnotation } from "#api/core/persistent-volume/volume-columns.ts";
import { newestDefault } from "#api/newest-default.ts";
import { isDefaultClass, StorageClass } from "#api/storage/storage-class.ts";
import { type Informers } from "#runtime/informer.ts";
import { isWriteOf, objectOf } from "../object-of.ts";
import { type AdmissionPlugin } from "../plugin.ts";

/** Gives a new claim that asks for no class the default one. `""` asks for a volume without a class. */
export function defaultStorageClass({ informers }: { readonly informers: Informers }): AdmissionPlugin {
  const classes = informers.of(StorageClass);
  return {
    name: "DefaultStorageClass",
    appliesTo: (request) => request.operation === "CREATE" && isWriteOf(PersistentVolumeClaim, request),

    mutate(request) {
      const claim = objectOf(PersistentVolumeClaim, request);
      if (!claim || claim.spec.storageClassName !== undefined) return;
      if (claim.metadata.annotations?.[classAnnotation] !== undefined) return;
      const chosen = newestDefault(classes.list(), isDefaultClass);
      if (chosen) claim.spec.storageClassName = chosen.metadata.name;
    },
  };
}
