import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { classNameOf } from "#api/core/persistent-volume/volume-columns.ts";
import { compareQuantities } from "#api/meta/quantity.ts";
import { StorageClass } from "#api/storage/storage-class.ts";
import { type Informers } from "#runtime/informer.ts";
import { isWriteOf, objectOf, oldObjectOf } from "../object-of.ts";
import { type AdmissionPlugin } from "../plugin.ts";
import { refusal } from "../refuse.ts";

/** Lets a claim grow only if it is bound and its class allows it. */
export function claimResize({ informers }: { readonly informers: Informers }): AdmissionPlugin {
  const classes = informers.of(StorageClass);
  const mayGrow = (name: string): boolean => classes.get({ name })?.allowVolumeExpansion ?? false;
  return {
    name: "PersistentVolumeClaimResize",
    appliesTo: (request) => request.operation === "UPDATE" && isWriteOf(PersistentVolumeClaim, request),

    validate(request) {
      const claim = objectOf(PersistentVolumeClaim, request);
      const old = oldObjectOf(PersistentVolumeClaim, request);
      if (!claim || !old || compareQuantities(sizeOf(claim), sizeOf(old)) <= 0) return;
      if (old.status.phase !== "Bound") throw refusal(request, "Only bound persistent volume claims can be expanded");
      const [name, before] = [classOf(claim), classOf(old)];
      if (name !== "" && name === before && mayGrow(name)) return;
      throw refusal(
        request,
        "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize",
      );
    },
  };
}

const sizeOf = ({ spec }: PersistentVolumeClaim): string => spec.resources.requests?.storage ?? "0";
const classOf = ({ metadata, spec }: PersistentVolumeClaim): string => classNameOf(metadata, spec.storageClassName);
